#!/usr/bin/env bash
# What every commit must pass: style, types, layers, migrations, fast tests.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin

step() { printf '\n== %s\n' "$1"; }

step "style"
$bin/ruff check .
$bin/ruff format --check .
step "types"
$bin/mypy
step "layers"
$bin/lint-imports
step "migrations"
SLICEKEEPER_DATA_DIR=$(mktemp -d) $bin/python manage.py makemigrations --check --dry-run
step "fast tests"
# The domain first, without Django: it must not need it.
DJANGO_SETTINGS_MODULE="" $bin/python -m pytest -q -n 2 -m "not slow" tests/domain
env -u SLICEKEEPER_REDIS_URL -u SLICEKEEPER_DATABASE_URL \
  $bin/python -m pytest -q -n 2 -m "not slow and not faults and not postgres" tests/contract tests/integration tests/api
