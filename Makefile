PYTHON ?= python3
SECONDS_MAX ?= 60
COUNT ?= 300
SEED ?= 1

VENV := .venv
STAMP := $(VENV)/.stamp
RUN := $(VENV)/bin/python

# The tools that inorder is compared with have an environment of their own.
BENCH_VENV := .venv-bench
BENCH_STAMP := $(BENCH_VENV)/.stamp
BENCH_RUN := $(BENCH_VENV)/bin/python

# Ray takes a few hundred megabytes, so it has an environment of its own.
RAY_VENV := .venv-ray
RAY_STAMP := $(RAY_VENV)/.stamp
RAY_RUN := $(RAY_VENV)/bin/python

# torch and the weights of a model take gigabytes.
MODELS_VENV := .venv-models
MODELS_STAMP := $(MODELS_VENV)/.stamp
MODELS_RUN := $(MODELS_VENV)/bin/python

# Chromium comes from the distribution, its driver from PyPI, axe-core from npm.
BROWSER_STAMP := build/axe/.stamp
SUDO := $(if $(filter 0,$(shell id -u)),,sudo)

# LangChain and LlamaIndex, for which there are retrievers.
ADAPTERS_VENV := .venv-adapters
ADAPTERS_STAMP := $(ADAPTERS_VENV)/.stamp
ADAPTERS_RUN := $(ADAPTERS_VENV)/bin/python

# Clients of object stores and databases, and the servers that stand for them in tests.
CONNECTORS_VENV := .venv-connectors
CONNECTORS_STAMP := $(CONNECTORS_VENV)/.stamp
CONNECTORS_RUN := $(CONNECTORS_VENV)/bin/python

# What searches for inputs that a reader or parser mishandles.
FUZZ_VENV := .venv-fuzz
FUZZ_STAMP := $(FUZZ_VENV)/.stamp
FUZZ_RUN := $(FUZZ_VENV)/bin/python

# What builds distributions: nothing of the package itself.
DIST_VENV := .venv-dist
DIST_STAMP := $(DIST_VENV)/.stamp
DIST_RUN := $(DIST_VENV)/bin/python

# Whatever an installed checkout is built from.
BUILD := pyproject.toml hatch_build.py $(shell find src -name '*.[ch]')

DEMO := build/demo

# The tests start several hundred interpreters. Without compiled files, each of them compiles the package again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo demo-models test test-fast test-browser test-extras test-models test-model-servers test-ray test-adapters test-connectors test-packaging check docs dist bench bench-peers bench-documents bench-quality bench-search bench-serve bench-pages bench-connectors bench-durable bench-gpu bench-ray \
	bench-capacity gauntlet \
	gauntlet-ray soak soak-pages fuzz mutants damage clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: $(STAMP) ## index the bundled sample and search it; three of its files are broken
	$(RUN) -m inorder run examples/sample --data $(DEMO) || test $$? -eq 3
	$(RUN) -m inorder inspect --data $(DEMO)
	$(RUN) -m inorder failures --data $(DEMO)
	$(RUN) -m inorder search --data $(DEMO) -k 3 "when should the fog horn be started"
	$(RUN) -m inorder report --data $(DEMO) -o build/report.html

demo-models: $(STAMP) ## read scans with a scripted model that fails at times
	rm -rf build/demo-models
	$(RUN) -m tools.demo_models build/demo-models

test: $(STAMP) ## run all tests; fails on an unproven landed requirement or an uncovered line of the core
	$(RUN) -m pytest -n 2 -q tests/core --requirements=off --cov=src/inorder/core --cov-branch --cov-report=term-missing --cov-fail-under=100
	$(RUN) -m pytest -n 2 -q tests/index --requirements=off -m "not process" -p tests.support.plain_counter_plugin
	$(RUN) -m pytest -n 4 --dist worksteal --requirements=enforce

test-fast: $(STAMP) ## run the tests for the inner loop: nothing that starts a process, crashes or takes long
	$(RUN) -m pytest --fast --requirements=off -q

test-browser: $(BROWSER_STAMP) ## install Chromium and test the report and `serve` in it; screenshots in build/screenshots
	BROWSER_TESTS=1 $(RUN) -m pytest --requirements=off -p tests.support.no_skips_plugin tests/browser

test-docling: $(STAMP) ## test that the newest docling-core reads what we write
	$(RUN) -m pip install --quiet --disable-pip-version-check --upgrade --target build/docling docling-core
	PYTHONPATH=build/docling $(RUN) -m pytest --requirements=off tests/documents/formats/test_formats.py tests/documents/doctags tests/documents/test_golden.py

test-extras: $(STAMP) ## install and test the optional readers: OCR, docling, old office files
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[ocr,docling,old-office]'
	$(RUN) -m pytest tests/documents/readers/test_ocr.py tests/documents/readers/test_docling.py tests/documents/formats/test_old_formats.py

test-models: $(MODELS_STAMP) ## install torch and test the local models: minilm, sentence-transformers, splade
	$(MODELS_RUN) -m pytest --requirements=off -p tests.support.no_skips_plugin tests/documents/embed

test-model-servers: $(MODELS_STAMP) ## install a server of chat models and test with a tiny one of random weights
	$(MODELS_RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt 'transformers[serving]'
	$(MODELS_RUN) -m pytest --requirements=off -p tests.support.no_skips_plugin tests/models/test_real_server.py

test-ray: $(RAY_STAMP) ## install Ray and test on clusters of several nodes on this machine
	$(RAY_RUN) -m pytest tests/ray tests/conformance/test_engines.py

test-adapters: $(ADAPTERS_STAMP) ## install LangChain and LlamaIndex and test the retrievers for them
	$(ADAPTERS_RUN) -m pytest --requirements=off -p tests.support.no_skips_plugin tests/adapters

test-connectors: $(CONNECTORS_STAMP) ## install clients and servers of databases and object stores, and test the connectors with them
	$(CONNECTORS_RUN) -m pytest -n 2 --requirements=off -p tests.support.no_skips_plugin tests/connectors

test-packaging: dist $(STAMP) ## install the distributions into clean environments, with each Python at hand, and run the demo there
	PACKAGING_TESTS=1 $(RUN) -m pytest --requirements=off -p tests.support.no_skips_plugin tests/packaging

dist: $(DIST_STAMP) ## build the source distribution, the wheel for this platform, and the one without compiled code
	rm -rf dist
	$(DIST_RUN) -m hatchling build
	HATCH_BUILD_NO_HOOKS=true $(DIST_RUN) -m hatchling build -t wheel
	@test $$(ls dist/*.whl | wc -l) -eq 2 || { echo "the wheel for this platform needs a C compiler" >&2; exit 1; }

docs: $(STAMP) ## write the generated references and pictures in docs/
	$(RUN) -m tools.docs

check: $(STAMP) ## check lint, formatting and types
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(RUN) -m mypy

.PHONY: kills properties test-typing
properties: $(STAMP) ## run the property tests with examples drawn by PROPERTY_SEED (default: another one each time)
	@seed=$${PROPERTY_SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; \
	echo "to draw the same examples again: make properties PROPERTY_SEED=$$seed"; \
	$(RUN) -m pytest -n 2 -q --requirements=off -m hypothesis --hypothesis-profile=fresh --hypothesis-seed=$$seed $(TESTS)

kills: $(STAMP) ## kill an imap with a journal KILLS times (default 200), inline and with processes, while its input changes
	KILLS=$${KILLS:-200} $(RUN) -m pytest -n 2 -q --requirements=off tests/iteration/test_changed_inputs.py -k killed_again

test-typing: $(STAMP) ## install pyright, and check user code and the guides with it and with mypy
	$(RUN) -m pip install --quiet --disable-pip-version-check pyright
	$(RUN) -m pytest --requirements=off -p tests.support.no_skips_plugin tests/typing

bench: $(STAMP) $(BENCH_STAMP) ## measure kernel, journal, stage, lanes and imap; compare imap with other tools
	$(RUN) bench/kernel.py
	$(RUN) bench/journal.py
	$(RUN) bench/stage.py
	$(RUN) bench/lanes.py
	$(RUN) bench/scaling.py
	$(RUN) bench/windows.py
	$(RUN) bench/workers.py
	$(BENCH_RUN) bench/imap.py

bench-peers: $(BENCH_STAMP) ## install the tools that imap and the PDF reader are compared with

gauntlet: $(BENCH_STAMP) ## run one misbehaving item among 200 with inorder and other tools
	$(BENCH_RUN) bench/gauntlet.py

bench-documents: $(STAMP) ## measure document reading; compare with other tools that are installed
	$(RUN) bench/documents.py

bench-quality: $(BENCH_STAMP) ## measure how well PDFs are read, beside other tools; PDFS="DIR..." are real ones
	$(BENCH_RUN) bench/quality.py $(if $(PDFS),--folder $(PDFS))

bench-search: $(BENCH_STAMP) ## measure search beside other libraries; CORPUS=DIR adds quality on the sets in DIR
	$(BENCH_RUN) bench/search.py $(if $(CORPUS),--corpus $(CORPUS)) $(if $(PART),--part $(PART))

bench-pages: $(STAMP) ## measure pages that a model reads: how much of what the server allows is used, and processor time
	$(RUN) bench/pages.py

bench-serve: $(STAMP) ## measure `inorder serve`: page loads, searches of 50 users, cost to a run
	$(RUN) bench/serve.py

bench-connectors: $(CONNECTORS_STAMP) ## measure exports to PostgreSQL beside LlamaIndex and LangChain, and reading from S3 beside s3fs
	$(CONNECTORS_RUN) -m pip install --quiet --disable-pip-version-check \
		langchain-postgres llama-index-vector-stores-postgres psycopg2-binary
	$(CONNECTORS_RUN) bench/connectors.py

bench-durable: $(BENCH_STAMP) ## measure a durable step that does nothing, beside DBOS
	$(BENCH_RUN) bench/durable.py

bench-gpu: $(STAMP) ## measure embedding on a GPU, if there is one
	$(RUN) bench/gpu.py

bench-ray: $(RAY_STAMP) ## measure inorder on Ray; compare with processes, plain Ray and Ray Data
	$(RAY_RUN) bench/ray.py

bench-capacity: $(STAMP) ## measure what one driver commits per second
	$(RUN) bench/capacity.py

gauntlet-ray: $(RAY_STAMP) ## run one misbehaving item among 200 on Ray
	$(RAY_RUN) bench/gauntlet.py --only inorder-ray --guard 60

soak: $(STAMP) ## disturb real runs, and run simulator seeds beside them, for SECONDS_MAX seconds (default 60)
	$(RUN) -m pip install --quiet --disable-pip-version-check --editable '.[duckdb,lance]'
	$(RUN) -m tools.soak --seconds $(SECONDS_MAX)

fuzz: $(FUZZ_STAMP) ## fuzz readers, parsers and the JSON API for SECONDS_MAX seconds; TARGET names one
	$(FUZZ_RUN) -m tools.fuzz --seconds-max $(SECONDS_MAX) $(TARGET)

mutants: $(STAMP) ## draw COUNT small changes of the source by SEED, and print those that no test notices
	$(RUN) -m tests.mutants.drawn --count $(COUNT) --seed $(SEED)

damage: $(STAMP) ## change COUNT places of DATA (default 300), and count what notices it
	$(RUN) bench/damage.py --count $(COUNT)

soak-pages: $(STAMP) ## kill runs in which a model reads pages, 200 times over 2,000 pages
	$(RUN) -m tests.pipeline.page_kills --pages 2000 --kills 200

clean: ## remove the virtual environments, caches and build outputs
	rm -rf $(VENV) $(BENCH_VENV) $(RAY_VENV) $(MODELS_VENV) $(ADAPTERS_VENV) $(CONNECTORS_VENV) $(FUZZ_VENV) $(DIST_VENV) build dist .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +
	find src -name '*.so' -delete

$(STAMP): $(BUILD) constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
		|| { echo "inorder needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

$(DIST_STAMP): pyproject.toml
	$(PYTHON) -m venv $(DIST_VENV)
	$(DIST_RUN) -m pip install --quiet --disable-pip-version-check 'hatchling>=1.27' 'setuptools>=77'
	@touch $@

$(BROWSER_STAMP): $(STAMP)
	command -v chromium >/dev/null || { $(SUDO) apt-get update --quiet=2 && \
		$(SUDO) apt-get install --quiet=2 --yes --no-install-recommends chromium fonts-dejavu-core; }
	$(RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt playwright
	npm install --silent --no-audit --no-fund --no-save --prefix build/axe axe-core@4.14.0
	@touch $@

$(BENCH_STAMP): $(BUILD) bench/constraints.txt
	$(PYTHON) -m venv $(BENCH_VENV)
	$(BENCH_RUN) -m pip install --quiet --disable-pip-version-check --constraint bench/constraints.txt \
		--editable '.[ingest]' joblib mpire pebble psutil reportlab kreuzberg liteparse 'markitdown[pdf]' pdf-inspector \
		bm25s dbos lancedb tantivy
	@touch $@

$(RAY_STAMP): $(BUILD) constraints.txt
	$(PYTHON) -m venv $(RAY_VENV)
	$(RAY_RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[dev,ray]' 'ray[data]' psutil
	@touch $@

$(MODELS_STAMP): $(BUILD) constraints.txt
	$(PYTHON) -m venv $(MODELS_VENV)
	$(MODELS_RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[dev,minilm,sentence-transformers]'
	@touch $@

$(ADAPTERS_STAMP): $(BUILD) constraints.txt
	$(PYTHON) -m venv $(ADAPTERS_VENV)
	$(ADAPTERS_RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[dev]' langchain-core llama-index-core
	@touch $@

$(CONNECTORS_STAMP): $(BUILD) constraints.txt
	$(PYTHON) -m venv $(CONNECTORS_VENV)
	$(CONNECTORS_RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[dev,duckdb,gcs,lance,qdrant,s3,sftp]' gcp-storage-emulator lancedb 'moto[server]' pgserver
	@touch $@

$(FUZZ_STAMP): $(BUILD) constraints.txt
	$(PYTHON) -m venv $(FUZZ_VENV)
	$(FUZZ_RUN) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable '.[dev]' atheris schemathesis
	@touch $@
