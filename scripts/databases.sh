#!/usr/bin/env bash
# Start PostgreSQL and Redis on loopback unless they run, and make the role and the database.
# `databases.sh check` only says whether both can be used (exit 1 if not).
set -euo pipefail
cd "$(dirname "$0")"
. ./services.env

database_ready() { PGCONNECT_TIMEOUT=3 psql -qAt "${SLICEKEEPER_DATABASE_URL%%\?*}" -c 'select 1' >/dev/null 2>&1; }
redis_ready() { [ "$(timeout 3 redis-cli -u "$SLICEKEEPER_REDIS_URL" ping 2>/dev/null)" = PONG ]; }
as_postgres() { if [ "$(id -u)" = 0 ]; then runuser -u postgres -- "$@"; else sudo -n -u postgres "$@"; fi; }
need() { command -v "$1" >/dev/null || { echo "databases: $1 is not installed; on Debian: apt-get install $2"; exit 1; }; }

wait_for() {
  for _ in $(seq 50); do "$1" && return; sleep 0.2; done
  echo "databases: $2 did not come up within 10 s"; exit 1
}

if [ "${1:-}" = check ]; then
  database_ready && redis_ready
  exit
fi

if database_ready; then
  echo "databases: PostgreSQL runs already"
else
  need pg_lsclusters postgresql
  server_ready() { as_postgres psql -qAt -c 'select 1' >/dev/null 2>&1; }
  if ! server_ready; then
    read -r version name _ < <(pg_lsclusters --no-header) || { echo "databases: PostgreSQL has no cluster"; exit 1; }
    pg_ctlcluster "$version" "$name" start
    echo "databases: started PostgreSQL $version/$name"
    wait_for server_ready PostgreSQL
  fi
  if [ -z "$(as_postgres psql -qAt -c "select 1 from pg_roles where rolname = 'slicekeeper'")" ]; then
    # CREATEDB: the tests make a database of their own.
    as_postgres psql -q -c "create role slicekeeper login createdb password 'slicekeeper'"
    echo "databases: made the role slicekeeper"
  fi
  if [ -z "$(as_postgres psql -qAt -c "select 1 from pg_database where datname = 'slicekeeper'")" ]; then
    as_postgres createdb --owner slicekeeper slicekeeper
    echo "databases: made the database slicekeeper"
  fi
  wait_for database_ready "PostgreSQL at ${SLICEKEEPER_DATABASE_URL##*@}"
fi

if redis_ready; then
  echo "databases: Redis runs already"
else
  need redis-server redis-server
  # Nothing is kept: the database is the queue of record, Redis only carries wake-ups.
  redis-server --daemonize yes --bind 127.0.0.1 --port 6379 --save "" --appendonly no --dir "${TMPDIR:-/tmp}" >/dev/null
  echo "databases: started Redis"
  wait_for redis_ready "Redis at ${SLICEKEEPER_REDIS_URL##*@}"
fi
echo "databases: for the programs to use them: set -a; . scripts/services.env; set +a"
