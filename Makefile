# Everything runs in .venv, made by `make setup`. It needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.installed

.PHONY: setup demo test test-lowest lint fuzz docs bench tasks clean
setup: $(SETUP)

# torch first and by exact version: a range would let pip choose a build with gigabytes of GPU libraries.
$(SETUP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rarewords needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

demo: $(SETUP)
	$(BIN)/python -m rarewords demo

test: $(SETUP) lint
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart 4

# The suite with the lowest version of every dependency, in an environment of its own.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e '.[dev]'
	.venv-lowest/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart 4

# Damaged files of every kind, drawn at random; the suite tries a few, always the same.
EXAMPLES ?= 10000
fuzz: $(SETUP)
	RAREWORDS_FUZZ=$(EXAMPLES) $(BIN)/python -m pytest -q --timeout 0 tests/fuzz

lint: $(SETUP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The reference from the code, a site of all pages in site/, and a check of every link.
docs: $(SETUP)
	$(BIN)/python -m docs.build

bench: $(SETUP)
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# Tasks that others made: DATA holds the sets, text and models, WORK gets the rest. QUICK=--quick: a small part.
JOBS ?= 1
tasks: $(SETUP)
	$(BIN)/python benchmarks/tasks/all.py $(DATA) $(WORK) --jobs $(JOBS) $(QUICK)

clean:
	rm -rf .venv .venv-lowest build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
