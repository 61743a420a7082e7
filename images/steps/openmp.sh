#!/bin/sh
# openmp.sh PREFIX: an OpenMP library at PREFIX/lib/openmp, for what is linked with GNU's.
#
# llama.cpp's wheel wants libgomp.so.1 of the system, and no package of a distribution is installed.
# LLVM's speaks the same interface under that name (its option LIBOMP_INSTALL_ALIASES).
set -eu
prefix=$1
export UV_LINK_MODE=copy UV_NO_PROGRESS=1
/build/uv/bin/uv pip install --quiet --no-deps --require-hashes --only-binary :all: \
    --python "$(command -v python3)" --target /build/openmp \
    --requirements /build/requirements/openmp.txt
install -D -m 0755 /build/openmp/cmeel.prefix/lib/libgomp.so.1 "$prefix/lib/openmp/libgomp.so.1"
# What the SBOM is made of.
cp -r /build/openmp/cmeel_libomp-*.dist-info "$prefix"/lib/python3*/site-packages/
