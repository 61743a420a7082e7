"""Image archives of one program, as `docker save` writes them."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["write_archive"]


def write_archive(path: Path, reference: str, program: Path, user: str) -> None:
    """Write an image at ``path`` whose entry point is the static ``program``, run as ``user``."""
    layer = tar({program.name: program.read_bytes()})
    config = image_config(program.name, user, layer)
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [reference], "Layers": ["layer.tar"]}]
    files = {name: config, "layer.tar": layer, "manifest.json": json.dumps(manifest).encode()}
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_bytes(tar(files))
    unfinished.replace(path)


def image_config(entry_point: str, user: str, layer: bytes) -> bytes:
    """The configuration of an image of one layer (OCI image specification 1.1)."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]
    config: dict[str, Any] = {
        "architecture": machine,
        "os": "linux",
        "config": {"Entrypoint": [f"/{entry_point}"], "User": user},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    return json.dumps(config).encode()


def tar(files: Mapping[str, bytes]) -> bytes:
    """An archive of executable files, the same for the same contents."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
