# Everything runs in .venv, made by `make setup`. It needs only Python 3.11+ and make.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.installed

.PHONY: setup demo test test-fast test-lowest lint fuzz docs bench results reproduce clean
setup: $(SETUP)

# torch first and by exact version: a range would let pip choose a build with gigabytes of GPU libraries.
$(SETUP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "rarewords needs Python 3.11 or newer; try make PYTHON=python3.12")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	# Where Node.js is installed, the tests compare the token ids of JavaScript with those of Python.
	! command -v npm >/dev/null || npm install --silent --no-audit --no-fund --prefix tests/runtimes
	touch $@

demo: $(SETUP)
	$(BIN)/python -m rarewords demo

test: $(SETUP) lint
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart 4

# Without the slow tests.
test-fast: $(SETUP) lint
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow"

# The suite with the lowest version of every dependency, in an environment of its own.
test-lowest:
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check torch==2.13.0
	.venv-lowest/bin/pip install --quiet --disable-pip-version-check -c constraints-lowest.txt -e '.[dev]'
	.venv-lowest/bin/python -m pytest -n auto --dist loadfile --no-loadscope-reorder --max-worker-restart 4

# Damaged files of every kind, drawn at random; the suite tries a few, always the same. What was found goes into
# FOUND; of each finding the input stays, and the line that is printed has the command.
EXAMPLES ?= 10000
FOUND ?= benchmarks/results/fuzz.json
fuzz: $(SETUP)
	RAREWORDS_FUZZ=$(EXAMPLES) RAREWORDS_FUZZ_OUT=$(FOUND) $(BIN)/python -m pytest -q --timeout 0 tests/fuzz

lint: $(SETUP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# The documents as a site in site/, with the reference from the code; a warning is an error.
docs: $(SETUP)
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site

bench: $(SETUP)
	for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python $$script || exit 1; done

# The results that the documents quote, at one version of the code, JOBS of them side by side; experiments/parts.toml
# says what DATA holds.
JOBS ?= 1
results: $(SETUP)
	$(BIN)/python -m experiments --data $(DATA) --jobs $(JOBS) $(PARTS)

# The paper's experiments, with a report in OUT. CORPUS is a corpus; if it does not exist, it is built from the text
# in DATA. QUICK=1 runs a small sample, MODEL another model, PARTS only these parts.
OUT ?= runs/reproduction
CORPUS ?= $(OUT).corpus
MODEL ?= default
reproduce: $(SETUP) $(CORPUS)
	$(BIN)/python -m experiments.paper $(PARTS) --corpus $(CORPUS) --out $(OUT) --model $(MODEL) $(if $(QUICK),--quick)

$(CORPUS): | $(SETUP)
	$(BIN)/python -m rarewords corpus build $(DATA) --model $(MODEL) --out $@

clean:
	rm -rf .venv .venv-lowest build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
