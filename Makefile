# make run          install with the command line into .venv and fit the built-in example
# make test         lint, types, import rules and tests
# make test-oldest  tests with the oldest releases of what we need, in .venv-oldest
# make fuzz         hostile cases by the thousand: make fuzz CASES=20000 SEED=1
# make reproduce    the paper's experiments: make reproduce NAMES="table1 table2" QUICK=1 JOBS=2
# make bench        times against peers, into README.md and docs/benchmarks.md
# make clean        remove the environments and every cache
#
# Needs Python 3.11 or later (choose one with make PYTHON=python3.12) and nothing that compiles.

PYTHON ?= python3
WORKERS ?= 2
CASES ?= 10000
SEED ?= 0
NAMES ?= all
QUICK ?=
JOBS ?= -1
OUT ?= results
RESUME ?= 1
DASK ?=

VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
INSTALL := -m pip --disable-pip-version-check install --quiet --prefer-binary
PIP := $(BIN)/python $(INSTALL)

.PHONY: run test test-oldest lint fuzz reproduce bench clean

run: $(VENV)/.installed
	$(BIN)/sparsewise fit --example diabetes

# Numba does not notice an edited callee in another file: a cache per state of the sources can't
# go stale. One thread for BLAS, because the workers share the cores already.
SOURCES_HASH = $(shell $(PYTHON) -c "import hashlib, pathlib; \
  files = sorted(pathlib.Path('src').rglob('*.py')); \
  print(hashlib.sha256(b''.join(f.read_bytes() for f in files)).hexdigest()[:16])")
test fuzz: export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba/$(SOURCES_HASH)
test-oldest: export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba/$(SOURCES_HASH)-oldest
test test-oldest fuzz reproduce bench: export OPENBLAS_NUM_THREADS := 1
test test-oldest fuzz reproduce bench: export MKL_NUM_THREADS := 1
test test-oldest fuzz reproduce bench: export OMP_NUM_THREADS := 1

# Whole files to each worker: what a file needs is compiled, and what it shares made, by one of them.
PYTEST := -m pytest -n $(WORKERS) --dist loadfile

# The engine and every compiled function once more as plain Python, which also checks indices.
test: lint
	$(BIN)/python $(PYTEST)
	NUMBA_DISABLE_JIT=1 $(BIN)/python $(PYTEST) tests/engine tests/kernels

# Whatever meets other packages; algorithms and guarantees meet NumPy alone, and take longest. The
# references are ours, and so are the oracles that must notice a fault.
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python $(PYTEST) --ignore tests/algorithms --ignore tests/guarantees \
	  --ignore tests/references --ignore tests/test_properties.py \
	  --deselect tests/hostile/test_hostile.py::test_an_oracle_notices_its_fault

# Some of these cases are among the tests, always the same ones.
fuzz: $(VENV)/.installed-dev
	$(BIN)/python -m tests.hostile --cases $(CASES) --seed $(SEED) --jobs $(WORKERS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

# Goes on where it was stopped; RESUME= begins anew, in a folder that is empty.
reproduce: $(VENV)/.installed-reproduction
	$(BIN)/python -m reproduction $(NAMES) --jobs $(JOBS) --out $(OUT) $(if $(QUICK),--quick) \
	  $(if $(RESUME),--resume) $(if $(DASK),--dask $(DASK))

bench: $(VENV)/.installed-bench
	$(BIN)/python -m reproduction.benchmarks --readme

clean:
	rm -rf $(VENV) $(OLDEST) .cache .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	rm -rf build dist
	find src tests reproduction -name __pycache__ -prune -exec rm -rf {} +

# --- set-up: each stamp is made once, and again when pyproject.toml changes -----------------------

$(VENV)/.made $(OLDEST)/.made:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and \
	  'sparsewise needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)')"
	$(PYTHON) -m venv $(@D)
	@touch $@

$(VENV)/.installed: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise into $(VENV) (a minute or so, the first time only)"
	$(PIP) --editable ".[cli]"
	@touch $@

$(VENV)/.installed-dev: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise and what its tests need into $(VENV) (the first time only)"
	$(PIP) --editable ".[dev]"
	@touch $@

$(VENV)/.installed-reproduction: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise and what its experiments need into $(VENV) (the first time only)"
	$(PIP) --editable ".[reproduction]"
	@touch $@

$(VENV)/.installed-bench: pyproject.toml $(VENV)/.made
	@echo "Installing sparsewise and its peers into $(VENV) (the first time only)"
	$(PIP) --editable ".[bench]"
	@touch $@

# Not the others: linters are no part of it, and a release without a wheel is no use to anybody.
$(OLDEST)/.installed: tests/oldest.txt pyproject.toml $(OLDEST)/.made
	@echo "Installing the oldest releases that sparsewise takes into $(OLDEST) (the first time only)"
	$(OLDEST)/bin/python $(INSTALL) --constraint tests/oldest.txt --only-binary numpy,scipy,numba \
	  --editable ".[test]" pyparsing
	@touch $@
