# Everything runs in .venv, which is made from pyproject.toml and made again when that changes.
# Another Python: make clean, then make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.ready
CACHE := .cache

# The release before and the one that is to come: v2 changes one ConfigMap and one image.
OLD := examples/rendered/v1.yaml
NEW := examples/rendered/v2.yaml
# As whoever has pushed the attacher's image somewhere would call it.
POSTRENDER := POSTRENDER_ATTACHER_IMAGE=registry.example.com/postrender:demo $(RUN) postrender

.PHONY: help venv demo test e2e lint format types docs bench plugin image-requirements clean

help:
	@echo 'make venv    set up $(VENV) (every target below does so by itself)'
	@echo 'make demo    render the example and show what its next release will do'
	@echo 'make test    run the tests'
	@echo 'make e2e     build a real control plane (20 minutes the first time) and test against it'
	@echo 'make lint    check style and format (ruff)'
	@echo 'make format  mend style and format where ruff can'
	@echo 'make types   check types (mypy)'
	@echo 'make docs    write the generated parts of README.md'
	@echo 'make bench   measure speed and memory, for four minutes'
	@echo 'make plugin  pack the Helm 4 plugin into dist'
	@echo 'make image-requirements  pin what the attacher image installs anew'
	@echo 'make clean   remove $(VENV) and everything else that was made'

venv: $(READY)

$(READY): pyproject.toml
	@echo 'Setting up $(VENV), once. It takes a minute ...'
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.10 or later is needed: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	@$(PYTHON) -m venv --clear $(VENV)
	@$(RUN) pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(READY)
	@mkdir -p $(CACHE)
	@echo '== 1. What gets a new name, and why:  postrender explain $(NEW)'
	@echo
	@$(POSTRENDER) explain $(NEW)
	@$(POSTRENDER) render $(NEW) > $(CACHE)/demo.yaml
	@echo
	@echo '== 2. What changes in the manifests:  postrender < $(NEW) | diff -U1 $(NEW) -'
	@echo
	@diff -U1 $(NEW) $(CACHE)/demo.yaml || test $$? -eq 1
	@echo
	@echo '== 3. What the next release will do:  postrender diff $(OLD) $(NEW)'
	@echo
	@$(POSTRENDER) diff $(OLD) $(NEW)
	@$(POSTRENDER) diff --format html $(OLD) $(NEW) > $(CACHE)/demo.html
	@echo
	@echo 'The whole output is in $(CACHE)/demo.yaml, the preview as a page in $(CACHE)/demo.html.'

test: $(READY)
	@$(RUN) pytest -n 4 --dist worksteal

# A real Kubernetes, Argo Rollouts, Argo CD and both Helms, built from the Go module proxy. Needs Go.
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

# Helm packs all that is in a folder, hence one that has only what is needed. To sign it, as Helm
# wants for others to install it: make plugin SIGN='--key NAME --keyring FILE'
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

# uv resolves for the image's platform on any machine. What is written names no package index.
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
