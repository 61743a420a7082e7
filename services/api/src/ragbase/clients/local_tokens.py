"""The tokeniser of a model whose files are on this machine, found without a network."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer as HubTokenizer

from ragbase.clients.slices import slices

__all__ = ["LocalTokenizer", "cached_snapshots", "token_limit", "tokenizer_folder"]

UNLIMITED = 1_000_000
"""Configs write absurd numbers (1e30) where they mean "no limit"."""


class LocalTokenizer:
    """A `Tokenizer` from a ``tokenizer.json``; long texts in slices, for memory's sake."""

    def __init__(self, folder: Path) -> None:
        self._own = HubTokenizer.from_file(str(folder / "tokenizer.json"))
        self._own.no_truncation()
        self._own.no_padding()
        self.special_tokens: int = self._own.num_special_tokens_to_add(is_pair=False)

    def spans(self, text: str) -> NDArray[np.int64]:
        """Shape (n, 2): start and end code points of each token."""
        parts = [
            np.array(self._encode(text[start:end]), dtype=np.int64).reshape(-1, 2) + start
            for start, end in slices(text)
        ]
        return np.concatenate([np.empty((0, 2), np.int64), *parts])

    def count(self, texts: Sequence[str]) -> list[int]:
        """Number of tokens of each text, without special tokens."""
        return [
            sum(len(self._encode(text[start:end])) for start, end in slices(text)) for text in texts
        ]

    def _encode(self, text: str) -> list[tuple[int, int]]:
        offsets: list[tuple[int, int]] = self._own.encode(text, add_special_tokens=False).offsets
        return offsets


def tokenizer_folder(model: str) -> Path | None:
    """Folder with the ``tokenizer.json`` of ``model``: itself a folder, or in the hub's cache."""
    for folder in (Path(model), *cached_snapshots(model)):
        if (folder / "tokenizer.json").is_file():
            return folder
    return None


def token_limit(folder: Path) -> int | None:
    """The model's token limit as its own files state it (the first that does), special included."""
    for name, key in (
        ("sentence_bert_config.json", "max_seq_length"),
        ("tokenizer_config.json", "model_max_length"),
    ):
        value = _read(folder / name).get(key)
        if isinstance(value, int | float) and 0 < value < UNLIMITED:
            return int(value)
    return None


def _read(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def cached_snapshots(model: str) -> list[Path]:
    """Snapshots of ``model`` in the hub's cache, the one of ``main`` first.

    Layout: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    """
    home = Path(os.environ.get("HF_HOME") or Path.home() / ".cache" / "huggingface")
    hub = Path(os.environ.get("HF_HUB_CACHE") or home / "hub")
    folder = hub / f"models--{model.replace('/', '--')}"
    try:
        main = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        main = ""
    snapshots = sorted((folder / "snapshots").glob("*"))
    return sorted(snapshots, key=lambda snapshot: snapshot.name != main)
