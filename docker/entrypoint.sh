#!/bin/sh
# Which part this container is: web, worker QUEUE, beat, fleets, migrate, or `manage COMMAND ...`.
set -eu
part="${1:-web}"
[ $# -gt 0 ] && shift

case "$part" in
web)
  # Which proxies may say where a request came from: FORWARDED_ALLOW_IPS, read by uvicorn itself.
  exec python -m uvicorn config.asgi:application --host 0.0.0.0 --port 8000 --lifespan off --no-server-header --ws-per-message-deflate false \
    --timeout-graceful-shutdown 5 "$@"
  ;;
worker)
  queue="${1:-pass}"
  [ $# -gt 0 ] && shift
  exec python -m celery --quiet -A config.celery worker -Q "$queue" -n "$queue@%h" \
    --concurrency "${WORKER_PROCESSES:-1}" --without-mingle --without-gossip "$@"
  ;;
beat) exec python -m celery --quiet -A config.celery beat --pidfile= "$@" ;;
fleets) exec python manage.py run_fleets "$@" ;;
migrate) exec python manage.py migrate --no-input "$@" ;;
manage) exec python manage.py "$@" ;;
*)
  echo "slicekeeper: '$part' is no part; say web, worker QUEUE, beat, fleets, migrate or manage COMMAND" >&2
  exit 2
  ;;
esac
