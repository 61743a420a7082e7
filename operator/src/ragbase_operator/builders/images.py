"""Which image a container runs."""

from __future__ import annotations

import re
from typing import Any, Final

from ragbase_operator.builders.inputs import Images
from ragbase_operator.models.pods import Image

__all__ = ["default_images", "image_fields", "image_reference", "postgres_major"]

NEWEST_POSTGRES: Final = 18
_MAJOR = re.compile(r"(?:^|[-_.])pg-?(\d+)(?:$|[-_.])")
_TAG = re.compile(r":[\w][\w.-]{0,127}$")


def default_images(registry: str, version: str) -> Images:
    """The images of a release: ours from ``registry`` at ``version``, others' at pinned tags."""
    ours = f"{registry.rstrip('/')}/ragbase"
    tei = "ghcr.io/huggingface/text-embeddings-inference"
    return Images(
        api=f"{ours}-api:{version}",
        inference_cpu=f"{ours}-inference:{version}-cpu",
        inference_rocm=f"{ours}-inference:{version}-rocm",
        inference_cuda=f"{ours}-inference:{version}-cuda",
        paradedb="docker.io/paradedb/paradedb:0.24.3-pg18",
        memgraph="docker.io/memgraph/memgraph-mage:3.9.0",
        tei_cpu=f"{tei}:cpu-1.9",
        tei_cuda=f"{tei}:cuda-1.9",
    )


def image_reference(image: Image, default: str) -> str:
    """``default`` with what a RagBase says instead; a digest takes the place of the tag."""
    base, _, digest = default.partition("@")
    found = _TAG.search(base)
    name, tag = (base[: found.start()], found[0]) if found else (base, "")
    repository = image.repository or name
    if image.digest:
        return f"{repository}@{image.digest}"
    if image.tag:
        return f"{repository}:{image.tag}"
    if image.repository and image.repository != name:
        return f"{repository}{tag}"
    return f"{name}{tag}{'@' + digest if digest else ''}"


def image_fields(image: Image, default: str) -> dict[str, Any]:
    """`image` and, where one is wished, `imagePullPolicy` of a container."""
    policy = {"imagePullPolicy": image.pull_policy} if image.pull_policy else {}
    return {"image": image_reference(image, default), **policy}


def postgres_major(image: Image, default: str) -> int:
    """The major version of Postgres in a ParadeDB image, as its tag says (``0.24.3-pg18``)."""
    tag = image.tag or ("" if image.digest else default.partition("@")[0].rpartition(":")[2])
    found = _MAJOR.search(tag)
    return int(found[1]) if found else NEWEST_POSTGRES
