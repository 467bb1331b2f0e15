# The commands people type. Each builds .venv first when it is missing or out of date.
PYTHON ?= python3
VENV := .venv
# The oldest Python and the lowest versions that pyproject.toml allows, in a place of their own.
LOWEST := .venv-lowest
LOWEST_PYTHON ?= python3.11
BIN := $(VENV)/bin
# One level of parallelism at a time: the test workers take the cores, BLAS stays single-threaded.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
WORKERS ?= 2
# A worker takes tests that stand beside each other, so that most fixtures of a file are made once.
DIST := --dist worksteal

.PHONY: demo test test-all test-engines test-lowest fuzz audit-deps coverage lint format bench docs picture changelog clean

demo: $(VENV)/.dev
	$(BIN)/flipcost demo --out flipcost-demo --overwrite
	@echo "Open flipcost-demo/report.html in a browser."

# With a few tests of the report in a browser, where there is one: its last line says.
test: lint $(VENV)/.axe
	$(TEST_ENV) $(BIN)/python -m pytest -q -n $(WORKERS) $(DIST) -m "not slow"

test-all: lint $(VENV)/.browser
	$(TEST_ENV) $(BIN)/python -m pytest -q -n $(WORKERS) $(DIST)

# Tables in real engines: PostgreSQL and Spark beside those that `make test` has.
test-engines: $(VENV)/.engines
	$(TEST_ENV) $(BIN)/python -m pytest -q tests/tables/engines tests/cli/test_engines.py \
	  tests/audit/test_engine.py tests/model/test_sql.py

# Made-up inputs for this many minutes; those that break something are kept in fuzz-faults.
MINUTES ?= 30
fuzz: $(VENV)/.dev
	$(TEST_ENV) $(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# Known holes in the installed packages, by a public service, where that can be reached.
audit-deps: $(VENV)/.dev
	-@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[audit]"
	$(BIN)/python tools/audit_deps.py

# Old packages warn about newer ones below them; that is not ours to fix. Docstrings are left out:
# their examples show what today's versions print.
test-lowest: $(LOWEST)/.done
	$(TEST_ENV) $(LOWEST)/bin/python -m pytest -q -n $(WORKERS) -m "not slow" tests \
	  -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning

coverage: $(VENV)/.dev
	$(TEST_ENV) $(BIN)/python -m pytest -q -n $(WORKERS) -m "not slow" \
	  --cov=flipcost --cov-report=term:skip-covered --cov-report=html:coverage

lint: $(VENV)/.dev
	$(BIN)/ruff check src tests benchmarks tools
	$(BIN)/ruff format --check src tests benchmarks tools
	$(BIN)/codespell
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix src tests benchmarks tools
	$(BIN)/ruff format src tests benchmarks tools

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.docs
	MPLBACKEND=agg $(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet docs site
	@echo "The documentation is in site/index.html"

# The picture of the report that the README and the site show, by chromium.
picture: $(VENV)/.dev
	$(TEST_ENV) $(BIN)/python tools/picture.py

# The section of the next version; `make changelog VERSION=0.2.0` puts it into CHANGELOG.md.
changelog: $(VENV)/.dev
	$(BIN)/towncrier build --yes $(if $(VERSION),--version $(VERSION),--version next --draft)

clean:
	rm -rf $(VENV) $(LOWEST) coverage .coverage site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "flipcost needs Python 3.11 or later; set PYTHON=/path/to/python3.11"; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
	  || { rm -rf $(VENV); echo "Could not create $(VENV); on Debian: apt-get install python3-venv"; exit 1; }

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

$(LOWEST)/.done: pyproject.toml tools/lowest.py
	$(LOWEST_PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST_PYTHON) tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
	  --constraint $(LOWEST)/constraints.txt --editable ".[test]"
	@touch $@

$(VENV)/.bench: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

# The report is tested in a real browser: Debian's own, installed when we may.
$(VENV)/.browser: pyproject.toml $(VENV)/.dev
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
	  || { apt-get update -qq && apt-get install -qq -y chromium chromium-driver >/dev/null; } \
	  || echo "No chromium and no right to install it: the browser tests will be skipped."
	@rm -f $(VENV)/.axe && $(MAKE) --no-print-directory $(VENV)/.axe
	@touch $@

# Checks of accessibility, where there are a browser to run them and npm to fetch them.
$(VENV)/.axe: $(VENV)/.dev
	@if command -v chromium >/dev/null && command -v npm >/dev/null; then \
	  npm install --silent --no-save --no-audit --no-fund --fetch-retries=0 --fetch-timeout=20000 \
	    --prefix $(VENV)/npm axe-core@4 || echo "No network: accessibility will not be checked."; \
	else echo "No chromium or no npm: accessibility will not be checked."; fi
	@touch $@

# Debian's own server and Java, installed when we may.
$(VENV)/.engines: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[engines]"
	@ls /usr/lib/postgresql/*/bin/pg_ctl >/dev/null 2>&1 && command -v java >/dev/null \
	  || { apt-get update -qq && apt-get install -qq -y postgresql openjdk-17-jre-headless >/dev/null; } \
	  || echo "No PostgreSQL or Java, and no right to install them: those tests will be skipped."
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@
