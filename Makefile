# Everything runs in .venv, which is created from pyproject.toml and re-created when that file changes.
# To use another Python: make clean, then make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.ready
CACHE := .cache

# The current release and the next one: v2 changes one ConfigMap and one image.
OLD := examples/rendered/v1.yaml
NEW := examples/rendered/v2.yaml
# The program as a user would run it who has pushed the attacher's image to a registry.
POSTRENDER := POSTRENDER_ATTACHER_IMAGE=registry.example.com/postrender:demo $(RUN) postrender

.PHONY: help venv demo test e2e lint format types docs bench plugin image-requirements clean

help:
	@echo 'make venv    create $(VENV) (the targets below do this by themselves)'
	@echo 'make demo    render the example chart and preview its next release'
	@echo 'make test    run the tests'
	@echo 'make e2e     run the tests against a real control plane (the first build takes 20 minutes)'
	@echo 'make lint    check style and format (ruff, hadolint)'
	@echo 'make format  fix style and format where ruff can'
	@echo 'make types   check types (mypy)'
	@echo 'make docs    update the generated parts of the documents'
	@echo 'make bench   measure speed and memory (takes four minutes)'
	@echo 'make plugin  pack the Helm 4 plugin into dist'
	@echo 'make image-requirements  update the pinned packages of the attacher image'
	@echo 'make clean   remove $(VENV) and all other generated files'

venv: $(READY)

$(READY): pyproject.toml
	@echo 'Creating $(VENV). This takes a minute ...'
	@$(PYTHON) -c 'import sys; sys.exit("error: make needs Python 3.10 or later. Run: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(RUN) pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)
	@mkdir -p $(CACHE)
	@echo '== 1. Which ConfigMaps are renamed, and why:  postrender explain $(NEW)'
	@echo
	@$(POSTRENDER) explain $(NEW)
	@$(POSTRENDER) render $(NEW) > $(CACHE)/demo.yaml
	@echo
	@echo '== 2. How the manifests change:  postrender < $(NEW) | diff -U1 $(NEW) -'
	@echo
	@diff -U1 $(NEW) $(CACHE)/demo.yaml || test $$? -eq 1
	@echo
	@echo '== 3. What the next release changes:  postrender diff $(OLD) $(NEW)'
	@echo
	@$(POSTRENDER) diff $(OLD) $(NEW)
	@$(POSTRENDER) diff --format html $(OLD) $(NEW) > $(CACHE)/demo.html
	@echo
	@echo 'Files: $(CACHE)/demo.yaml (the rendered manifests), $(CACHE)/demo.html (the preview as a page)'

test: $(READY)
	@$(RUN) pytest -n 4 --dist worksteal

# Builds Kubernetes, Argo Rollouts, Argo CD and both Helm versions from the Go module proxy. Needs Go.
e2e: $(READY)
	@tests/e2e/controlplane/build $(CACHE)/e2e
	@POSTRENDER_E2E_REQUIRED=1 $(RUN) pytest -n 4 --dist worksteal tests/e2e

lint: $(READY)
	@$(RUN) ruff check --quiet
	@$(RUN) ruff format --quiet --check
	@test ! -x $(VENV)/bin/hadolint || $(VENV)/bin/hadolint Dockerfile examples/argocd/Dockerfile

format: $(READY)
	@$(RUN) ruff check --quiet --fix
	@$(RUN) ruff format --quiet

types: $(READY)
	@$(RUN) mypy

docs: $(READY)
	@$(VENV)/bin/python docs/generate.py

bench: $(READY)
	@$(RUN) benchmarks.run

# Helm packs a whole folder, so the needed files are copied to an empty one. Helm installs an unsigned
# archive only with --verify=false. To sign: make plugin SIGN='--key NAME --keyring FILE'
HELM ?= helm
SIGN ?= --sign=false
DIST := dist
PACKED := $(CACHE)/plugin/postrender

plugin:
	@rm -rf $(PACKED)
	@mkdir -p $(PACKED)
	@cp -R LICENSE README.md plugin plugin.yaml postrender pyproject.toml $(PACKED)
	@find $(PACKED) -name __pycache__ -type d -prune -exec rm -rf {} +
	@$(HELM) plugin package $(SIGN) --destination $(DIST) $(PACKED)

# uv resolves for the image's platform on any machine. The lock files contain no package index.
UV := $(CACHE)/uv/bin/uv pip compile --quiet --upgrade --generate-hashes --python-version 3.12 \
  --python-platform linux --no-emit-index-url --no-emit-find-links \
  --custom-compile-command 'make image-requirements'

image-requirements:
	@$(PYTHON) -m venv --clear $(CACHE)/uv
	@$(CACHE)/uv/bin/python -m pip install --quiet --disable-pip-version-check uv
	@$(UV) --extra attach --output-file docker/requirements.txt pyproject.toml > /dev/null
	@echo 'hatchling>=1.27' | $(UV) --output-file docker/build-requirements.txt - > /dev/null

clean:
	@rm -rf $(VENV) $(CACHE) .plugin .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
