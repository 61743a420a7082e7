#!/bin/sh
# sbom.sh SUBJECT FOLDER: FOLDER/sbom.cdx.json lists what is installed below SUBJECT.
set -eu
site=$(echo "$1"/ragbase/lib/python3*/site-packages)
[ -d "$site" ]
if [ -d "$1/postgres" ]; then cp -r "$1"/postgres/*.dist-info "$site/"; fi
mkdir -p "$2"
# The environment's own interpreter is a link to the base's; all that matters is what is beside it.
/opt/sbom/bin/cyclonedx-py environment --output-reproducible --output-format JSON \
    --output-file "$2/sbom.cdx.json" "$1/ragbase/bin/python"
