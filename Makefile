# Every target sets up .venv from constraints.txt by itself and does nothing twice.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
CACHE  ?= $(if $(CORP_CACHE),$(CORP_CACHE),$(HOME)/.cache/corp)
MODEL  := $(CACHE)/SmolLM2-135M-Instruct

export HF_HUB_OFFLINE = 1
export TOKENIZERS_PARALLELISM = false
export OMP_WAIT_POLICY = PASSIVE

.PHONY: help install model demo test test-all check bench clean

help: ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "CoRP needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Name another one: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[server,demo,dev,math]'
	@touch $@

install: $(STAMP) ## create .venv with everything in it

$(MODEL)/config.json: | $(STAMP)
	TQDM_DISABLE=1 $(BIN)/python -m examples.smollm2 $(MODEL)

model: $(MODEL)/config.json ## prepare SmolLM2-135M-Instruct as a safetensors checkpoint

demo: $(STAMP) model ## run the main job on a real model through the HTTP API
	$(BIN)/python -m examples.demo --model $(MODEL)

test: $(STAMP) ## the test suite, under ten minutes on two cores
	$(BIN)/python -m pytest -q -m 'not slow and not model'

test-all: $(STAMP) model ## every test, the slow ones and the real model's included
	CORP_TEST_MODEL=$(MODEL) $(BIN)/python -m pytest -q

check: $(STAMP) ## ruff, mypy --strict, import-linter, Dockerfile lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/hadolint Dockerfile

bench: $(STAMP) model ## the benchmarks of docs/performance.md
	$(BIN)/python -m benchmarks --model $(MODEL)

clean: ## remove .venv and caches of this tree
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info build
