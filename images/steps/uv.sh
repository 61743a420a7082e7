#!/bin/sh
# Installs uv, by the hash of its lock, to /build/uv.
set -eu
python3 -m venv /build/uv
/build/uv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir \
    --require-hashes --requirement /build/requirements/uv.txt
