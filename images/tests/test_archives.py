"""Reading archives with an OCI layout."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from images.archives import added_bytes, configuration, layer_stream, layers, whole_text


def layer(content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo("file")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def write_image(path: Path, contents: list[bytes], *, nested: bool = False) -> Path:
    """An archive as Buildah writes it, or with an index in the index, as Docker does."""
    blobs: dict[str, bytes] = {}

    def blob(content: bytes) -> dict[str, object]:
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        blobs["blobs/" + digest.replace(":", "/")] = content
        return {"digest": digest, "size": len(content)}

    tars = [layer(content) for content in contents]
    stored = [blob(gzip.compress(tar, mtime=0)) for tar in tars]
    diff_ids = ["sha256:" + hashlib.sha256(tar).hexdigest() for tar in tars]
    config = blob(json.dumps({"config": {"User": "1"}, "rootfs": {"diff_ids": diff_ids}}).encode())
    manifest = blob(json.dumps({"config": config, "layers": stored}).encode())
    if nested:
        manifest = blob(json.dumps({"manifests": [manifest]}).encode())
    blobs["index.json"] = json.dumps({"manifests": [manifest]}).encode()
    with tarfile.open(path, "w") as archive:
        for name, content in blobs.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


@pytest.mark.parametrize("nested", [False, True])
def test_what_an_image_adds_is_what_its_base_does_not_hold(tmp_path, nested):
    base = write_image(tmp_path / "base.tar", [b"below" * 1000])
    image = write_image(tmp_path / "image.tar", [b"below" * 1000, b"above"], nested=nested)
    _, above = layers(image)
    assert added_bytes(image, base) == above.size == len(layer_stream(image, above))
    assert added_bytes(base, base) == 0
    assert configuration(image)["config"] == {"User": "1"}


def test_text_is_found_in_compressed_layers_and_in_the_configuration(tmp_path):
    image = write_image(tmp_path / "image.tar", [b"a word in a layer"])
    everything = b"".join(content for _, content in whole_text(image))
    assert b"a word in a layer" in everything
    assert b"diff_ids" in everything
