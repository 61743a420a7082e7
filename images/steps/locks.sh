#!/bin/sh
# locks.sh PREFIX LOCK…: a virtual environment at PREFIX with what the locks list, wheels only.
set -eu
here=$(dirname "$0")
prefix=$1
shift
[ -x /build/uv/bin/uv ] || sh "$here/uv.sh"
export UV_LINK_MODE=copy UV_NO_PROGRESS=1 UV_PYTHON_DOWNLOADS=never
# Byte code that is never compared with its source: the root is read-only, and times vary by build.
export PYC_INVALIDATION_MODE=UNCHECKED_HASH
[ -x "$prefix/bin/python" ] || /build/uv/bin/uv venv --quiet --python "$(command -v python3)" "$prefix"
for lock in "$@"; do
    set -- "$@" --requirements "/build/requirements/$lock.txt"
    shift
done
/build/uv/bin/uv pip install --quiet --no-deps --require-hashes --only-binary :all: \
    --compile-bytecode --python "$prefix/bin/python" "$@"
