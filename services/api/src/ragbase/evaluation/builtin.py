"""The judged set that ships with RagBase; every place, person, firm, law and device is invented.

Because no model can know this world, an answer can only come from retrieval. The queries come
in families, each aimed at something that one arm does badly; see ``data/README.md``.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import as_file, files
from pathlib import Path

from ragbase.evaluation.dataset import Dataset, load_dataset

__all__ = ["BUILTIN", "builtin_dataset", "open_dataset"]

BUILTIN = "builtin"


def builtin_dataset() -> Dataset:
    """The judged set that ships with RagBase."""
    with as_file(files("ragbase.evaluation").joinpath("data")) as folder:
        return replace(load_dataset(folder), name=BUILTIN)


def open_dataset(name: str) -> Dataset:
    """The dataset of a folder, or the shipped one for ``builtin``."""
    return builtin_dataset() if name == BUILTIN else load_dataset(Path(name))
