# Everything runs in .venv, which is created from pyproject.toml and re-created when pyproject.toml changes.
# To use another Python: make clean, then make test PYTHON=python3.12

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python -m
READY := $(VENV)/.ready
CACHE := .cache

.PHONY: help venv demo test programs e2e story cluster matrix lint format types docs site bench fuzz plugin \
  behaviour changed-behaviour field-types image-requirements formula sbom audit release-check clean

help:
	@echo 'make venv    create $(VENV) (other targets run this when needed)'
	@echo 'make demo    preview the next release of the example chart, and what its pods read'
	@echo 'make test    run the tests that need only Python (two minutes)'
	@echo 'make e2e     run the tests with the real programs (the first build takes 25 minutes)'
	@echo 'make story   show a canary with real pods, with and without postrender (needs root)'
	@echo 'make cluster start a cluster with Argo Rollouts and postrender, until Ctrl-C (needs root)'
	@echo 'make behaviour  run the tests of what other programs do, and record that the tests passed'
	@echo 'make matrix  run the tests with each version of each tool; one version: make matrix CELL=helm-4.1'
	@echo 'make lint    check style and format (ruff, hadolint)'
	@echo 'make format  fix style and format where ruff can'
	@echo 'make types   check types (mypy)'
	@echo 'make docs    update the generated parts of the documents'
	@echo 'make site    build the documents as a site, in $(SITE)/built (needs npm)'
	@echo 'make bench   measure speed and memory (takes four minutes)'
	@echo 'make fuzz    run random inputs (SECONDS=300), random properties, and a break of each defence'
	@echo 'make plugin  pack the Helm 4 plugin into dist'
	@echo 'make field-types  update the types of the fields of Kubernetes and Argo Rollouts'
	@echo 'make image-requirements  update the pinned packages of the image, the plugin and the formula'
	@echo 'make sbom    list the packages of the wheel and of the image (CycloneDX) in dist'
	@echo 'make audit   look up the pinned packages in the vulnerability database of PyPI'
	@echo 'make release-check  check everything that a release publishes; one step: make release-check STEP=image'
	@echo 'make clean   remove $(VENV) and all other generated files'

venv: $(READY)

$(READY): pyproject.toml
	@test ! -L $(VENV) || { echo 'error: $(VENV) is a link, and make would empty its target. Remove the link'; exit 1; }
	@echo 'Creating $(VENV). This takes a minute ...'
	@$(PYTHON) -c 'import sys; sys.exit("error: make needs Python 3.10 or later. Run: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	@$(PYTHON) -I -m venv --clear $(VENV)
	@$(RUN) pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

# The demo needs only the program and its libraries, so a new checkout does not install the tools for
# development. If $(VENV) exists, the demo uses it.
DEMO_VENV := $(if $(wildcard $(READY)),$(VENV),$(CACHE)/demo)
DEMO_READY := $(if $(wildcard $(READY)),$(READY),$(CACHE)/demo/.ready)

$(CACHE)/demo/.ready: pyproject.toml
	@echo 'Installing postrender in $(CACHE)/demo. This takes ten seconds ...'
	@$(PYTHON) -c 'import sys; sys.exit("error: make needs Python 3.10 or later. Run: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	@$(PYTHON) -I -m venv --clear $(CACHE)/demo
	@$(CACHE)/demo/bin/python -I -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

demo: $(DEMO_READY)
	@mkdir -p $(CACHE)
	@$(DEMO_VENV)/bin/python examples/demo.py $(CACHE)/demo.html

test: $(READY)
	@$(RUN) pytest -n auto --dist worksteal

# This target needs Go, and builds the versions of CI in tests/e2e/versions.yaml from the Go module proxy.
programs: $(READY)
	@$(RUN) tests.e2e.build

# Eight processes also on two cores, because most tests wait for a server.
PYTEST_E2E := pytest -n 8 --dist worksteal

e2e: programs
	@$(RUN) $(PYTEST_E2E) tests/e2e tests/browser --ignore-glob '*/test_behaviour_*'

# These tests prove facts about other programs, for tests/e2e/BEHAVIOUR.md. .ci/run runs them only if
# the versions, the tests or the predictions are not those that passed last.
BEHAVIOUR := $(sort $(wildcard tests/e2e/test_behaviour_*.py tests/e2e/node/test_behaviour_*.py))
BEHAVIOUR_FILES := tests/e2e/versions.yaml $(BEHAVIOUR) $(sort $(wildcard tests/predictions/*.yaml))
BEHAVIOUR_PASSED := tests/e2e/behaviour.sha256

behaviour: programs
	@$(RUN) $(PYTEST_E2E) $(BEHAVIOUR)
	@sha256sum $(BEHAVIOUR_FILES) > $(BEHAVIOUR_PASSED)

changed-behaviour:
	@sha256sum $(BEHAVIOUR_FILES) | cmp --silent - $(BEHAVIOUR_PASSED) || $(MAKE) behaviour

# The first run also builds the programs and the image.
story: $(READY)
	@tests/e2e/node/install
	@$(RUN) tests.e2e.build
	@$(RUN) tests.e2e.node.demonstration

# IMAGES: archives of further images, for your own application.
IMAGES ?=

cluster: $(READY)
	@tests/e2e/node/install
	@$(RUN) tests.e2e.build
	@$(RUN) tests.e2e.node.keep $(IMAGES)

# All versions in tests/e2e/versions.yaml take hours. The results are written to tests/e2e/results.yaml.
CELL ?=

matrix: $(READY)
	@tests/e2e/node/install
	@$(RUN) tests.e2e.matrix $(CELL)

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

# The site loads nothing from other servers, so its scripts are downloaded here. mkdocs stops on a dead link.
SITE := $(CACHE)/site
SITE_SCRIPTS := mermaid@11.17.2 iframe-worker@1.0.4

# With --quiet, mkdocs does not stop on a dead link.
site: $(SITE)/.ready
	@echo 'Building the pages. This takes a minute ...'
	@NO_MKDOCS_2_WARNING=1 $(SITE)/venv/bin/mkdocs build
	@echo 'Site: $(SITE)/built/index.html'

$(SITE)/.ready: docs/requirements.txt
	@echo 'Installing mkdocs and mermaid in $(SITE). This takes half a minute ...'
	@rm -rf $(SITE) && mkdir -p $(SITE)/mermaid $(SITE)/worker
	@$(PYTHON) -I -m venv $(SITE)/venv
	@$(SITE)/venv/bin/python -I -m pip install --quiet --disable-pip-version-check --requirement docs/requirements.txt
	@cd $(SITE) && npm pack --silent $(SITE_SCRIPTS) > /dev/null
	@tar -xzf $(SITE)/mermaid-*.tgz -C $(SITE)/mermaid && tar -xzf $(SITE)/iframe-worker-*.tgz -C $(SITE)/worker
	@touch $@

bench: $(READY)
	@$(RUN) benchmarks.run

SECONDS ?= 300

fuzz: $(READY)
	@$(RUN) tests.security.fuzz $(SECONDS)
	@POSTRENDER_FUZZ=1 $(RUN) pytest -n auto -m "hypothesis or random_inputs"
	@$(RUN) tests.security.defences

# Helm packs a whole folder, so the needed files are copied to an empty folder. Helm installs an
# unsigned archive only with --verify=false. To sign: make plugin SIGN='--key NAME --keyring FILE'
HELM ?= helm
SIGN ?= --sign=false
DIST := dist
PACKED := $(CACHE)/plugin/postrender

plugin:
	@rm -rf $(PACKED)
	@mkdir -p $(PACKED)
	@cp -R LICENSE README.md hatch_build.py plugin plugin.yaml postrender pyproject.toml $(PACKED)
	@git describe --always --dirty --abbrev=12 --exclude='*' > $(PACKED)/postrender/commit.txt \
	  || rm $(PACKED)/postrender/commit.txt
	@find $(PACKED) -name __pycache__ -type d -prune -exec rm -rf {} +
	@$(HELM) plugin package $(SIGN) --destination $(DIST) $(PACKED)

# uv resolves packages for the image's platform on any machine. The lock files do not contain the URL
# of a package index.
UV_COMPILE := $(CACHE)/uv/bin/uv pip compile --quiet --upgrade --generate-hashes --no-emit-index-url \
  --no-emit-find-links --custom-compile-command 'make image-requirements'
UV := $(UV_COMPILE) --python-version 3.12 --python-platform linux
# The Helm plugin is installed on every platform, and with every Python that postrender supports.
UV_UNIVERSAL := $(UV_COMPILE) --universal --python-version 3.10

field-types: programs
	@$(RUN) pip install --quiet --disable-pip-version-check --upgrade kubernetes-validate
	@$(VENV)/bin/python -m release.field_types $(CACHE)/e2e/crds/*.yaml

image-requirements:
	@$(PYTHON) -I -m venv --clear $(CACHE)/uv
	@$(CACHE)/uv/bin/python -I -m pip install --quiet --disable-pip-version-check uv
	@$(UV) --output-file docker/requirements.txt pyproject.toml > /dev/null
	@echo 'hatchling>=1.27' | $(UV) --output-file docker/build-requirements.txt - > /dev/null
	@$(UV_UNIVERSAL) --output-file plugin/requirements.txt pyproject.toml > /dev/null
	@echo 'hatchling>=1.27' | $(UV_UNIVERSAL) --output-file plugin/build-requirements.txt - > /dev/null
	@echo uv | $(UV_UNIVERSAL) --output-file homebrew/requirements.txt - > /dev/null

# The Homebrew formula of an sdist, on stdout: make formula SDIST=FILE URL=URL. Only the package index
# knows the addresses of the packages in the formula.
LOCK := $(CACHE)/formula/pylock.toml

formula:
	@$(PYTHON) -I -m venv --clear $(CACHE)/formula
	@$(CACHE)/formula/bin/python -I -m pip install --quiet --disable-pip-version-check --require-hashes \
	  --only-binary :all: --requirement homebrew/requirements.txt
	@$(CACHE)/formula/bin/uv pip compile --quiet --python-version 3.13 --format pylock.toml \
	  --constraint plugin/requirements.txt --output-file $(LOCK) pyproject.toml > /dev/null
	@$(PYTHON) homebrew/formula.py $(SDIST) $(URL) < $(LOCK)

# The bills of materials of the wheel and of the image, in the format CycloneDX.
sbom: $(READY)
	@$(VENV)/bin/python release/sbom.py $(DIST)

# This target needs the vulnerability service of PyPI.
audit: $(READY)
	@$(VENV)/bin/python release/audit.py

# The check works in a clean clone of the last commit, and publishes nothing.
STEP ?=

release-check: $(READY)
	@$(RUN) release.check $(addprefix --only ,$(STEP))

clean:
	@rm -rf $(VENV) $(CACHE) .plugin .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
