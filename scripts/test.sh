#!/usr/bin/env bash
# The whole suite: on SQLite, and again on PostgreSQL + Redis what touches a database; beside these, which compute, the parts of an
# installation and the browser, which wait. What is not there is left out and said first; with CI=true it is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/parts.sh
pytest=(.venv/bin/python -m pytest -q)

left_out() {
  printf 'test: LEFT OUT: %s\n' "$1"
  if [ "${CI:-}" = true ]; then exit 1; fi
}

# What is the same on any database runs once.
same=(--ignore=tests/domain --ignore=tests/scenarios --ignore=tests/api/test_schemathesis.py --ignore=tests/api/test_roles.py
  --ignore=tests/api/test_safety.py)

services=yes
bash scripts/databases.sh check || { services=no; left_out "PostgreSQL + Redis (start them with: make databases)"; }

browser=yes
if ! command -v chromium >/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "test: installing Chromium"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null || true
  fi
  command -v chromium >/dev/null || { browser=no; left_out "the browser tests (install the package chromium)"; }
fi

# On what scripts/services.env names.
on_services() {
  # shellcheck source=scripts/services.env
  (set -a && . scripts/services.env && set +a && "$@")
}

computing() {
  part "SQLite" env -u SLICEKEEPER_REDIS_URL -u SLICEKEEPER_DATABASE_URL "${pytest[@]}" -n 2
  if [ $services = yes ]; then
    part "PostgreSQL + Redis" on_services "${pytest[@]}" -n 2 -p no:schemathesis tests "${same[@]}"
  fi
}

as_processes() { part "production parts" on_services "${pytest[@]}" -p no:schemathesis tests/production; }

# Its own process: the browser driver keeps an event loop that async tests cannot share.
in_a_browser() { part "browser" "${pytest[@]}" -p no:schemathesis tests/e2e; }

lane computing
if [ $services = yes ]; then lane as_processes; fi
if [ $browser = yes ]; then lane in_a_browser; fi
conclude
