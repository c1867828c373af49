#!/usr/bin/env bash
# What every commit must pass: style, types, layers, migrations, fast tests. The first four run beside the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
. scripts/parts.sh

# Nothing here needs the plugin that asks the API by its schema, and loading it takes longer than most files of tests.
pytest=("$bin/python" -m pytest -q -n 2 --few-examples -p no:schemathesis --ignore=tests/api/test_schemathesis.py)

migrations() { SLICEKEEPER_DATA_DIR=$logs $bin/python manage.py makemigrations --check --dry-run; }

reading() {
  part "style" $bin/ruff check .
  part "format" $bin/ruff format --check .
  part "layers" $bin/lint-imports
  part "migrations" migrations
  part "types" $bin/mypy
}

running() {
  # Without Django: the domain must not need it.
  part "domain" env DJANGO_SETTINGS_MODULE="" "${pytest[@]}" -m "not slow" tests/domain
  part "fast tests" env -u SLICEKEEPER_REDIS_URL -u SLICEKEEPER_DATABASE_URL \
    "${pytest[@]}" -m "not slow and not faults and not postgres" tests/contract tests/integration tests/api
}

lane reading
lane running
conclude
