# The whole interface of this repository; `make help` lists it. It needs Python 3.11 or newer with its
# venv module, and make.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
PY := $(VENV)/bin/python
RUNTIME := $(VENV)/.installed
DEVELOP := $(VENV)/.installed-dev
SITE := $(VENV)/.installed-docs
JOBS ?= 2

# A task is any text: it reaches the command through the environment, unread by make (`value`) and by
# the shell (a quoted variable). The variables as given are not exported: make would expand them.
export RUN_TASK := $(value TASK)
export RUN_BASE_URL := $(value BASE_URL)
export RUN_MODEL := $(value MODEL)
unexport TASK BASE_URL MODEL

export PIP_DISABLE_PIP_VERSION_CHECK := 1
HOUSE := PYTHONPATH=scripts $(PY) -m

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 24

# --- use ---------------------------------------------------------------------------------------

.PHONY: run
run: $(RUNTIME) ## run one task: make run TASK="…" [BASE_URL=…] [MODEL=…]
	@if [ -z "$$RUN_TASK" ]; then echo 'usage: make run TASK="what to do"' >&2; exit 2; fi; \
	set -- run; \
	if [ -n "$$RUN_BASE_URL" ]; then set -- "$$@" --base-url "$$RUN_BASE_URL"; fi; \
	if [ -n "$$RUN_MODEL" ]; then set -- "$$@" --model "$$RUN_MODEL"; fi; \
	if [ -z "$$RUN_BASE_URL$$DEEPSEEK_API_KEY" ]; then set -- "$$@" --offline; fi; \
	task=$$RUN_TASK; unset RUN_TASK RUN_BASE_URL RUN_MODEL MAKEFLAGS MAKELEVEL MAKEOVERRIDES MFLAGS; \
	exec $(VENV)/bin/dsh "$$@" -- "$$task"

# --- test --------------------------------------------------------------------------------------

.PHONY: test
test: $(DEVELOP) ## run the tests: make test [ARGS="tests/harness -k log"]
	$(PY) -m pytest -n $(JOBS) $(ARGS)

.PHONY: check
check: format-check lint types coverage spec-check docs-check docs ## everything that must hold; what CI runs

.PHONY: coverage
coverage: $(DEVELOP) ## run the tests, examples and documents, and hold the coverage floors
	@rm -f .coverage .coverage.* && mkdir -p build
	@failed=0; set -x; \
	$(PY) -m pytest -n $(JOBS) --cov --cov-report= $(ARGS) || failed=1; \
	$(PY) -m coverage json --quiet -o build/coverage.json || failed=1; \
	$(HOUSE) house.coverage_floor build/coverage.json || failed=1; \
	exit $$failed

.PHONY: fuzz
fuzz: $(DEVELOP) ## search for long: every property with many more examples
	HYPOTHESIS_PROFILE=deep $(PY) -m pytest -n $(JOBS) -m fuzz --timeout=7200 $(ARGS)

.PHONY: bench
bench: $(DEVELOP) ## print the performance table beside its floors
	$(PY) -m benchmarks $(ARGS)

# --- read --------------------------------------------------------------------------------------

.PHONY: lint
lint: $(DEVELOP) ## check the lint rules and the rules of the house
	@failed=0; set -x; \
	$(PY) -m ruff check || failed=1; \
	$(HOUSE) house.rules || failed=1; \
	exit $$failed

.PHONY: format
format: $(DEVELOP) ## format the sources and sort their imports
	$(PY) -m ruff check --select I --fix
	$(PY) -m ruff format

.PHONY: format-check
format-check: $(DEVELOP) ## check the format without changing anything
	$(PY) -m ruff format --check

.PHONY: types
types: $(DEVELOP) ## check the types, strictly
	$(PY) -m basedpyright

# --- write what is generated -------------------------------------------------------------------

.PHONY: surface
surface: $(DEVELOP) ## write the snapshot of all public names
	$(HOUSE) house.surface

.PHONY: spec-report
spec-report: $(DEVELOP) ## write which items of the specification no test names
	$(HOUSE) house.spec_report

.PHONY: spec-check
spec-check: $(DEVELOP)
	$(HOUSE) house.spec_report --check

.PHONY: docs-generate
docs-generate: $(DEVELOP) ## write the catalogues of docs/generated from the sources
	$(HOUSE) catalogue

.PHONY: docs-check
docs-check: $(DEVELOP)
	$(HOUSE) catalogue --check

.PHONY: docs
docs: $(SITE) ## build the site in build/site; only the set-up needs a network
	$(HOUSE) manual
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --clean
	$(HOUSE) manual --check

# --- set up ------------------------------------------------------------------------------------

# The installed package is editable, so only a change of pyproject.toml makes it stale.
$(RUNTIME): pyproject.toml
	@scripts/make-venv $(VENV)
	$(PY) -m pip install --quiet --editable .
	@touch $@

# Dependency groups need a newer pip than Python 3.11 brings along.
$(DEVELOP): $(RUNTIME)
	$(PY) -m pip install --quiet --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --group dev
	@touch $@

$(SITE): $(DEVELOP)
	$(PY) -m pip install --quiet --group docs
	@touch $@

.PHONY: setup
setup: $(DEVELOP) ## set up the virtual environment with the development tools

.PHONY: clean
clean: ## remove caches and reports, not the virtual environment
	rm -rf .coverage .coverage.* .hypothesis .pytest_cache .ruff_cache build dist
	find . -name $(VENV) -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +
