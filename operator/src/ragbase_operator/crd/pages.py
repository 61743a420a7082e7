"""The files that are made out of the models, by their path in the repository."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from ragbase_operator.crd.manifest import definition
from ragbase_operator.crd.reference import reference_page
from ragbase_operator.generated import stale_files, write_files
from ragbase_operator.models.kinds import GROUP, KINDS, Kind
from ragbase_operator.models.manifest import Manifest

__all__ = ["as_yaml", "crd_path", "pages", "stale", "write"]

_HEADER = "# Made by `make crds` out of the operator's models: change those.\n"
_WIDTH = 100


def crd_path(kind: Kind) -> str:
    """Where the CRD of ``kind`` lies in the repository."""
    return f"crds/{GROUP}_{kind.plural}.yaml"


def pages() -> dict[str, str]:
    """Text of each generated file by its path."""
    texts = {crd_path(kind): _HEADER + as_yaml(definition(kind)) for kind in KINDS}
    return {**texts, "docs/crd-reference.md": reference_page(KINDS)}


def stale(root: Path) -> list[str]:
    """Paths of the files below ``root`` that differ from what the models say, or are not there."""
    return stale_files(root, pages())


def write(root: Path) -> None:
    """Write all files below ``root``."""
    write_files(root, pages())


def as_yaml(manifest: Manifest) -> str:
    """``manifest`` as YAML, keys in their order."""
    # Through JSON, so that no object occurs twice: YAML would write anchors.
    distinct = json.loads(json.dumps(manifest))
    return str(yaml.safe_dump(distinct, sort_keys=False, width=_WIDTH, allow_unicode=True))
