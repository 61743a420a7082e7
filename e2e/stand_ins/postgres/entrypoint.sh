#!/bin/bash
# What the official image's entrypoint does with POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB and
# PGDATA on the first start, run as the user of the data (it drops no privileges).
set -euo pipefail

if [ "${1:-postgres}" != postgres ]; then
    exec "$@"
fi
shift || true

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:?is empty: the first start needs it}"
    user=${POSTGRES_USER:-postgres}
    database=${POSTGRES_DB:-$user}
    mkdir -p "$PGDATA"
    chmod 700 "$PGDATA"
    initdb --username="$user" --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD") --pgdata="$PGDATA" \
        --auth-local=trust --auth-host=scram-sha-256 --locale=C.UTF-8 --encoding=UTF8
    echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
    pg_ctl --pgdata="$PGDATA" --wait --silent start -o "-c listen_addresses='' $(printf '%q ' "$@")"
    if [ "$database" != postgres ]; then
        psql --no-psqlrc -v ON_ERROR_STOP=1 -U "$user" -d postgres -v name="$database" \
            <<< 'CREATE DATABASE :"name";'
    fi
    pg_ctl --pgdata="$PGDATA" --wait --silent --mode=fast stop
fi

exec postgres -D "$PGDATA" "$@"
