"""Reads images out of archives with an OCI layout: configuration, layers, their sizes."""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

__all__ = ["Layer", "added_bytes", "configuration", "layer_stream", "layers", "whole_text"]


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer as it is stored and transferred: ``size`` bytes, compressed where the archive is."""

    digest: str
    diff_id: str
    """Digest of the uncompressed layer: the same in every image that shares it."""
    size: int


def _member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    file = archive.extractfile(name)
    if file is None:
        raise ValueError(f"{archive.name!r} holds no {name}")
    return file


def _blob(archive: tarfile.TarFile, digest: str) -> IO[bytes]:
    return _member(archive, "blobs/" + digest.replace(":", "/"))


def _json(file: IO[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = json.load(file)
    return found


def _manifest(archive: tarfile.TarFile) -> dict[str, Any]:
    index = _json(_member(archive, "index.json"))
    found = _json(_blob(archive, index["manifests"][0]["digest"]))
    return _json(_blob(archive, found["manifests"][0]["digest"])) if "manifests" in found else found


def configuration(path: Path) -> dict[str, Any]:
    """The image's configuration: ``config``, ``rootfs``, ``history``."""
    with tarfile.open(path) as archive:
        return _json(_blob(archive, _manifest(archive)["config"]["digest"]))


def layers(path: Path) -> list[Layer]:
    """The layers, the base's first."""
    with tarfile.open(path) as archive:
        manifest = _manifest(archive)
        config = _json(_blob(archive, manifest["config"]["digest"]))
    return [
        Layer(stored["digest"], diff_id, stored["size"])
        for stored, diff_id in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True)
    ]


def added_bytes(path: Path, base: Path) -> int:
    """Bytes, as stored, of the layers that an image adds to its base."""
    below = {layer.diff_id for layer in layers(base)}
    return sum(layer.size for layer in layers(path) if layer.diff_id not in below)


def layer_stream(path: Path, layer: Layer) -> bytes:
    """A layer as it is stored: a tar file, compressed or not."""
    with tarfile.open(path) as archive:
        return _blob(archive, layer.digest).read()


def whole_text(path: Path) -> Iterator[tuple[str, bytes]]:
    """All that an archive says, uncompressed: name and bytes of each blob."""
    with tarfile.open(path) as archive:
        for member in archive:
            if (file := archive.extractfile(member)) is None:
                continue
            content = file.read()
            packed = content.startswith(b"\x1f\x8b")
            yield member.name, gzip.decompress(content) if packed else content
