# make run    install into .venv and fit the built-in example
# make test   lint, types, import rules and tests
# make bench  times against peers, into README.md and docs/benchmarks.md
# make clean  remove the environment and every cache
#
# Needs Python 3.11 or later (choose one with make PYTHON=python3.12) and nothing that compiles.

PYTHON ?= python3
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --prefer-binary

.PHONY: run test lint bench clean

run: $(VENV)/.installed
	$(BIN)/sparsewise fit --example diabetes

# Numba does not notice an edited callee in another file: a cache per state of the sources can't
# go stale. One thread for BLAS, because the workers share the cores already.
SOURCES_HASH = $(shell $(PYTHON) -c "import hashlib, pathlib; \
  files = sorted(pathlib.Path('src').rglob('*.py')); \
  print(hashlib.sha256(b''.join(f.read_bytes() for f in files)).hexdigest()[:16])")
test: export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba/$(SOURCES_HASH)
test bench: export OPENBLAS_NUM_THREADS := 1
test bench: export MKL_NUM_THREADS := 1
test bench: export OMP_NUM_THREADS := 1

test: lint
	$(BIN)/python -m pytest -n $(WORKERS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(WORKERS) tests/engine

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks --readme

clean:
	rm -rf $(VENV) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf build dist
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# --- set-up: each stamp is made once, and again when pyproject.toml changes -----------------------

$(VENV)/.made:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	  'sparsewise needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)')"
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise into $(VENV) (a minute or so, the first time only)"
	$(PIP) --editable .
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise and what its tests need into $(VENV) (the first time only)"
	$(PIP) --editable ".[dev]"
	@touch $@

$(VENV)/.installed-bench: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise and its peers into $(VENV) (the first time only)"
	$(PIP) --editable ".[bench]"
	@touch $@
