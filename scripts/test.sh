#!/usr/bin/env bash
# The whole suite: on SQLite, again on PostgreSQL + Redis what touches a database, then in a browser.
# What is not there is left out and said first; with CI=true it is a failure. The last line is always pytest's.
set -euo pipefail
cd "$(dirname "$0")/.."
pytest=(.venv/bin/python -m pytest -q)

step() { printf '\n== %s\n' "$1"; }
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
    step "installing Chromium"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium; } >/dev/null || true
  fi
  command -v chromium >/dev/null || { browser=no; left_out "the browser tests (install the package chromium)"; }
fi

step "SQLite"
env -u SLICEKEEPER_REDIS_URL -u SLICEKEEPER_DATABASE_URL "${pytest[@]}" -n 2

if [ $services = yes ]; then
  step "PostgreSQL + Redis"
  # shellcheck source=scripts/services.env
  (set -a && . scripts/services.env && set +a && "${pytest[@]}" -n 2 tests "${same[@]}")
fi

if [ $services = yes ]; then
  step "production parts"
  (set -a && . scripts/services.env && set +a && "${pytest[@]}" tests/production)
fi

if [ $browser = yes ]; then
  step "browser"
  # Its own process: the browser driver keeps an event loop that async tests cannot share.
  "${pytest[@]}" tests/e2e
fi
