#!/bin/sh
# torch.sh PREFIX VERSION INDEX [SHA256]: torch's own build for one kind of device, by version and,
# where it is given, by hash. All that torch needs at run time is in the locks or in this wheel.
set -eu
prefix=$1 version=$2 index=${TORCH_INDEX_URL:-$3} sha256=${4:-}
export UV_LINK_MODE=copy UV_NO_PROGRESS=1 PYC_INVALIDATION_MODE=UNCHECKED_HASH
requirement=/build/torch.txt
if [ -n "$sha256" ]; then
    echo "torch==$version --hash=sha256:$sha256" > "$requirement"
    set -- --require-hashes
else
    echo "torch==$version" > "$requirement"
    set --
fi
# A mirror of the machine must not stand in for the build that was asked for.
unset UV_INDEX UV_EXTRA_INDEX_URL UV_FIND_LINKS
/build/uv/bin/uv pip install --quiet --no-deps --only-binary :all: --compile-bytecode "$@" \
    --python "$prefix/bin/python" --default-index "$index" --requirements "$requirement"
