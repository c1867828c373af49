# Every command of the project. `make help` lists them; CI calls the same ones (.ci/run).

.DEFAULT_GOAL := help
SHELL := /bin/bash
MAKEFLAGS += --no-print-directory

# The lock file is made for 3.11; newer Pythons work too.
PYTHON := $(shell for p in python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
PY := $(VENV)/bin/python
LOCK := requirements-dev.lock
# Named after the lock's content: an unchanged lock installs nothing and asks no network.
STAMP := $(VENV)/.installed-$(shell cksum < $(LOCK) | tr ' ' '-')

export PORT ?= 8000

.PHONY: help
help: ## list these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: install
install: $(STAMP) ## make .venv from the lock file (once; works offline afterwards)

$(STAMP): $(LOCK)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (looked for python3.11, python3, python)."; exit 1; }
	@echo "install: $(VENV) from $(LOCK)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r $(LOCK)
	@rm -f $(VENV)/.installed-*
	@touch $@

.PHONY: run
run: install ## start the demo cluster and everything that serves it on http://127.0.0.1:8000 (PORT=...)
	@$(PY) manage.py serve --check-port
	@echo "migrate: database in $${SLICEKEEPER_DATA_DIR:-./var}"
	@$(PY) manage.py migrate --verbosity 0
	@echo "load_demo: the demo cluster"
	@$(PY) manage.py load_demo
	@exec $(PY) manage.py serve

.PHONY: check
check: install ## lint, types, layers, migrations and the fast tests (about a minute)
	@bash scripts/check.sh

.PHONY: test
test: install ## the whole suite: SQLite, PostgreSQL + Redis where they run, and the browser
	@bash scripts/test.sh

.PHONY: faults
faults: install ## the long forms of the tests that kill processes (many minutes)
	@FAULTS=full $(PY) -m pytest -m faults tests

.PHONY: bench
bench: install ## measure against the floors of the same run and print the table
	@$(PY) -m pytest tests/bench -s

.PHONY: databases
databases: ## start PostgreSQL and Redis on this machine unless they run
	@bash scripts/databases.sh

.PHONY: services
services: install ## start the production parts without containers: databases, 2 web (WEB_PORTS=...), workers, beat, fleets
	@bash scripts/services.sh

.PHONY: services-stop
services-stop: install ## stop the production parts; PostgreSQL and Redis go on running
	@bash scripts/services.sh stop

.PHONY: smoke
smoke: install ## drive the production parts in a browser: place 32 nodes, fail three, see two swaps and a move
	@bash scripts/smoke.sh

.PHONY: demo-recovery
demo-recovery: install ## kill workers of a training on local nodes, and see it go on (about half a minute)
	@$(PY) scripts/demo_recovery.py

.PHONY: lock
lock: ## resolve pyproject.toml again into the two lock files (asks the network)
	@bash scripts/lock.sh "$(PYTHON)"

.PHONY: clean
clean: ## remove the environment and all caches; the data in var/ stays
	@rm -rf $(VENV) staticfiles .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
	@echo "clean: done; var/ (databases, secret key) was left as it is"
