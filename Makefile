PYTHON ?= python3
SECONDS_MAX ?= 60

VENV := .venv
STAMP := $(VENV)/.stamp
RUN := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help demo test check bench soak clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(STAMP) ## run the example
	$(RUN) examples/demo.py

test: $(STAMP) ## run the tests; fails on an unproven landed requirement or an uncovered line of the core
	$(RUN) -m pytest -n 2 --requirements=enforce \
		--cov=inorder.core --cov-branch --cov-report=term-missing --cov-fail-under=100

check: $(STAMP) ## lint, formatting and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

bench: $(STAMP) ## measure the kernel
	$(RUN) bench/kernel.py

soak: $(STAMP) ## run simulator seeds for SECONDS_MAX seconds (default 60)
	$(RUN) -m inorder.sim soak --seconds $(SECONDS_MAX)

clean: ## remove the virtual environment, caches and build outputs
	rm -rf $(VENV) build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "inorder needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@
