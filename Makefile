# What a person does here, and what .ci/run does, are the same targets.
PYTHON ?= python3
BIN := .venv/bin
STAGE := .ci/stage

.PHONY: setup demo test lint format test-engine test-patches docs screenshots clean

setup: .venv/.ready

# Again only when what is installed would change.
.venv/.ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("error: Python 3.11 or newer is needed (make PYTHON=…)" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

# The whole job without a GPU: a real vLLM, a tiny model, a drafter. The first time it installs a CPU vLLM.
demo: setup
	$(BIN)/specwatch demo

test: lint
	$(STAGE) pytest $(BIN)/python -m pytest -n 2 --dist worksteal

# Real vLLM servers on the CPU, started, killed and measured.
test-engine: setup
	$(STAGE) 'engine tests' $(BIN)/python -m pytest tests/engine -p no:cacheprovider -o addopts='-q --strict-markers'

# The EAGLE-3 patch on a real vLLM 0.16 (2.8 GB, installed the first time) and on the current one.
test-patches: setup
	$(STAGE) 'patch tests' $(BIN)/python -m pytest tests/patches -p no:cacheprovider -o addopts='-q --strict-markers'

lint: setup
	$(STAGE) 'format check' $(BIN)/ruff format --check --quiet .
	$(STAGE) ruff $(BIN)/ruff check --quiet .
	$(STAGE) mypy $(BIN)/mypy
	$(STAGE) import-linter $(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix --quiet .
	$(BIN)/ruff format --quiet .

# The pages of docs/ that are made from the code.
docs: setup
	$(BIN)/python docs/generate.py

# Draws screenshots/*.svg anew from the recordings.
screenshots: setup
	SPECWATCH_SCREENSHOTS=write $(BIN)/python -m pytest tests/test_screenshots.py

clean:
	rm -rf .venv dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
