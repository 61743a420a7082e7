#!/bin/sh
# packages.sh PREFIX FOLDER…: installs the product's packages; uv builds them itself, no network.
set -eu
prefix=$1
shift
export UV_LINK_MODE=copy UV_NO_PROGRESS=1 PYC_INVALIDATION_MODE=UNCHECKED_HASH
/build/uv/bin/uv pip install --quiet --offline --no-sources --no-deps --no-cache --compile-bytecode \
    --python "$prefix/bin/python" "$@"
# uv leaves its lock behind, writable for everybody.
rm -f "$prefix/.lock" "$prefix/.gitignore" "$prefix/CACHEDIR.TAG"
