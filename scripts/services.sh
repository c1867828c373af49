#!/usr/bin/env bash
# The parts of an installation as processes of their own, without containers: PostgreSQL, Redis, two web processes, a worker for each
# queue, beat, and the runner of logs and fleets. `services.sh stop` stops all but PostgreSQL and Redis; `services.sh status` lists them.
# Say it as often as you like: what runs is left alone. The ports of the web processes: WEB_PORTS="8001 8002".
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python

set -a
# shellcheck source=scripts/services.env
. scripts/services.env
set +a

case "${1:-start}" in
start)
  bash scripts/databases.sh
  $python manage.py migrate --verbosity 0
  # Compressing takes its time: only where something is newer than the list of what was collected. Nothing here shows redoc's pages.
  if [ ! -f staticfiles/staticfiles.json ] ||
    [ -n "$(find frontend/static requirements.lock config/settings.py -newer staticfiles/staticfiles.json -print -quit)" ]; then
    $python manage.py collectstatic --no-input --verbosity 0 --ignore redoc
  fi
  $python -m config.parts start
  read -r port _ <<<"${WEB_PORTS:-8001 8002}"
  echo "services: open $($python manage.py login_link --base-url "http://127.0.0.1:$port")"
  echo "services: stop with: make services-stop (PostgreSQL and Redis go on running)"
  ;;
stop | status) $python -m config.parts "$1" ;;
*) echo "services: say start, stop or status, not '$1'" && exit 2 ;;
esac
