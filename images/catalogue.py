"""The images there are, and what they are called."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["DEFAULT_IMAGES", "IMAGES", "ROOT", "Image", "product_version"]

ROOT: Final = Path(__file__).resolve().parent.parent
"""The repository: the context of every build."""


@dataclass(frozen=True, slots=True)
class Image:
    """One image: its folder below ``images/``, and its name and tag as the operator expects them."""

    folder: str
    repository: str
    variant: str = ""
    """What its tag ends in, behind the version."""

    @property
    def dockerfile(self) -> Path:
        """Path of its Dockerfile."""
        return ROOT / "images" / self.folder / "Dockerfile"

    def reference(self, registry: str, version: str) -> str:
        """``registry/ragbase-inference:0.1.0-cpu``."""
        tag = f"{version}-{self.variant}" if self.variant else version
        return f"{registry.rstrip('/')}/{self.repository}:{tag}"


IMAGES: Final = {
    image.folder: image
    for image in (
        Image("operator", "ragbase-operator"),
        Image("api", "ragbase-api"),
        Image("inference-cpu", "ragbase-inference", "cpu"),
        Image("inference-rocm", "ragbase-inference", "rocm"),
        Image("inference-cuda", "ragbase-inference", "cuda"),
    )
}

DEFAULT_IMAGES: Final = ("operator", "api", "inference-cpu")
"""Those of gigabytes are built when named."""


def product_version() -> str:
    """The one version of the product."""
    project = tomllib.loads((ROOT / "services/api/pyproject.toml").read_text(encoding="utf-8"))
    version: str = project["project"]["version"]
    return version
