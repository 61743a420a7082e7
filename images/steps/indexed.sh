#!/bin/sh
# Runs a command with the package-index settings of the machine that builds. They come as build
# secrets, so they are there during the one step and in no layer. Without them: the public index.
set -eu
secrets=/run/secrets
if [ -f "$secrets/package-index" ]; then
    set -a
    . "$secrets/package-index"
    set +a
fi
if [ -f "$secrets/ca-bundle" ]; then
    export SSL_CERT_FILE="$secrets/ca-bundle" PIP_CERT="$secrets/ca-bundle"
fi
if [ -f "$secrets/uv-config" ]; then export UV_CONFIG_FILE="$secrets/uv-config"; fi
if [ -f "$secrets/netrc" ]; then export NETRC="$secrets/netrc"; fi
exec "$@"
