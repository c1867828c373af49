#!/usr/bin/env bash
# Drives the production parts in a headless browser: a job of 32 nodes is submitted at the first web process and watched at the second;
# three nodes of one of its racks fail in turn; it sees two swaps and a slice move, and no page is ever reloaded. Then every decision of
# the log is made again and compared. What it starts it stops; what ran before goes on running.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
command -v chromium >/dev/null || { echo "smoke: Chromium is needed; on Debian: apt-get install chromium" && exit 1; }

set -a
# shellcheck source=scripts/services.env
. scripts/services.env
set +a
read -r first second _ <<<"${WEB_PORTS:-8001 8002}"
export E2E_URLS="http://127.0.0.1:$first http://127.0.0.1:${second:-$first}"
E2E_CLUSTER="smoke-$(date -u +%Y%m%dt%H%M%S | tr '[:upper:]' '[:lower:]')"
export E2E_CLUSTER

began=$SECONDS
$python -m config.parts status >/dev/null && ran=yes || ran=no
finish() {
  $python manage.py remove_cluster "$E2E_CLUSTER" --by smoke --reason "the smoke test is over" >/dev/null 2>&1 || true
  if [ $ran = no ]; then bash scripts/services.sh stop; fi
}
trap finish EXIT
bash scripts/services.sh

echo "smoke: a quiet cluster of 4 racks, $E2E_CLUSTER; submit at $first, watch at ${second:-$first}"
$python manage.py create_simulated "$E2E_CLUSTER" --racks 4 --failures-per-node-day 0 --launch-s 1 --check-s 1 --speed 1 >/dev/null
$python -m pytest -q -p no:cacheprovider tests/e2e/test_first_light.py
echo "smoke: what the log says, every decision made again and compared:"
$python manage.py replay --cluster "$E2E_CLUSTER" --verify
echo "smoke: green after $((SECONDS - began)) s: placed 16+16, two swaps, one slice move, over two web processes, no reload"
