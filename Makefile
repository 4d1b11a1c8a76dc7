# Two commands do everything: `make up` starts Strandline, `make test` tests it.
# PYTHON=python3.12 chooses another Python; ARGS="…" is handed on, as in make up ARGS="--port 8123".
# The tests run in twice as many processes as there are cores, eight at most; make test ARGS="-n 0" runs them in one.
# They start hundreds of processes, so Python may keep what it has compiled.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
LOCKED := --universal --no-strip-extras --generate-hashes --no-emit-index-url --no-emit-find-links --no-header --quiet

.DEFAULT_GOAL := help
.PHONY: help up test check bench bench-check compare nightly oracles site lock clean

help:
	@echo "make up        start the gateway (the first time it installs what it needs)"
	@echo "make test      run the tests"
	@echo "make check     format, lint, types, import rules"
	@echo "make bench     measure, beside goals and the floor; fails if a goal was missed"
	@echo "make bench-check  count what a message costs, and fail if that rose: the same on every machine"
	@echo "make compare   nanobot, hermes-agent and OpenClaw beside Strandline on this machine: a table"
	@echo "make nightly   the tests that take minutes, 5,000 simulated worlds, then make endurance"
	@echo "make endurance loads of ten minutes, without and with kills, half an hour of a household, two of 30 long chats"
	@echo "make oracles   get what the tests judge by, where they can: Telegram's own library and axe-core, from npm"
	@echo "make site      the documentation as a site, in build/site; links are checked"
	@echo "make lock      renew requirements.lock and requirements-dev.lock"
	@echo "make clean     remove the environment and caches"

up: $(VENV)/.for-up
	@exec $(BIN)/strandline up $(ARGS)

test: $(VENV)/.for-tests
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --maxprocesses 8 --dist worksteal $(ARGS)

nightly: $(VENV)/.for-tests
	@$(BIN)/python -m pytest -m nightly --timeout=3600 $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m tests.simulation --seeds 5000)
	@$(if $(ARGS),,$(MAKE) --no-print-directory endurance)

endurance: $(VENV)/.for-tests
	@$(BIN)/python -m bench.load --messages 30000 --minutes 10
	@$(BIN)/python -m bench.load --messages 30000 --minutes 10 --kill-every 20
	@$(BIN)/python -m bench.soak --minutes 30
	@$(BIN)/python -m bench.soak --hours 2 --chats 30 --window 128000 --endless --rate 2

check: $(VENV)/.for-tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

bench: $(VENV)/.for-tests
	@$(BIN)/python -m bench $(ARGS)

# Counts, no seconds: what was accepted last is in bench/counts.json.
bench-check: $(VENV)/.for-tests
	@$(BIN)/python -m bench.counts $(ARGS)

# Everything but the installations runs without a network beyond loopback.
compare: $(VENV)/.for-tests
	@mkdir -p build/compare
	@$(BIN)/python -m bench.compare $(ARGS)

# Tests that judge by what is not here are skipped, and say so.
oracles:
	@npm install --prefix .oracles --no-audit --no-fund --no-save --ignore-scripts --loglevel=error \
	  @prebuilt-tdlib/linux-x64-glibc@0.1008067.0 axe-core@4.11.0

# The site has an environment of its own: nothing of it is needed to run or test Strandline.
site: .site-venv/.made
	@NO_MKDOCS_2_WARNING=1 .site-venv/bin/python -m mkdocs build --quiet

.site-venv/.made: requirements-site.lock
	@$(PYTHON) -m venv .site-venv
	@.site-venv/bin/python -m pip --quiet --disable-pip-version-check --no-input install --require-hashes -r requirements-site.lock
	@touch $@

# The lock files hold hashes and no address; a second Python or system gets its own lines by --universal.
lock: $(VENV)/.for-tests
	@$(BIN)/uv pip compile $(LOCKED) --extra anthropic --extra google --extra mcp --extra redis --extra traces pyproject.toml -o requirements.lock
	@$(BIN)/uv pip compile $(LOCKED) --group dev --extra anthropic --extra google --extra mcp --extra redis --extra traces -c requirements.lock pyproject.toml -o requirements-dev.lock
	@echo 'mkdocs-material==9.*' | $(BIN)/uv pip compile $(LOCKED) --python-version 3.11 - -o requirements-site.lock

clean:
	@rm -rf $(VENV) .site-venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage .oracles

# --- the environment; each stamp is older than what it was made from when that has changed

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))' || { \
	  echo "Strandline needs Python 3.11 to 3.14; '$(PYTHON)' is not one. Name another: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	  exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "'$(PYTHON)' cannot make virtual environments. On Debian and Ubuntu: apt install python3-venv" >&2; \
	  exit 1; }
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.for-up: $(VENV)/.made requirements.lock pyproject.toml
	@echo "Installing what Strandline needs into $(VENV): about a minute, once"
	@$(PIP) install --require-hashes -r requirements.lock
	@$(PIP) install --no-deps -e .
	@touch $@

$(VENV)/.for-tests: $(VENV)/.made requirements-dev.lock pyproject.toml
	@echo "Installing what the tests need into $(VENV): about a minute, once"
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@$(PIP) install --no-deps -e .
	@touch $@ $(VENV)/.for-up
