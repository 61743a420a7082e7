"""Lists what an image holds: a CycloneDX file, written by cyclonedx-py in a build of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from images.catalogue import ROOT
from images.engines import Build, Engine, build_command
from images.index_settings import machine_secrets, pip_configuration, write_secrets

__all__ = ["write_sbom"]

_FILE = "sbom.cdx.json"


def write_sbom(engine: Engine, reference: str, path: Path, *, base_image: str | None) -> None:
    """Write ``path`` for a built image. ``base_image`` must be the one that it was built on."""
    arguments = {"IMAGE": reference}
    if base_image:
        arguments["BASE_IMAGE"] = base_image
    build = Build("localhost/ragbase-sbom:latest", ROOT / "images/sbom/Dockerfile", ROOT, arguments)
    with tempfile.TemporaryDirectory(prefix="ragbase-sbom-") as folder:
        found = machine_secrets(os.environ, pip_configuration(), Path.home())
        (secrets := Path(folder) / "secrets").mkdir(mode=0o700)
        out = Path(folder) / "out"
        build = replace(build, secrets=write_secrets(found, secrets), output=out)
        subprocess.run(build_command(engine, build), check=True, cwd=ROOT)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(out / _FILE, path)
