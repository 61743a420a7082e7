"""The folders ``chat``, ``embedding`` and ``reranker``, and the GGUF files in them.

Names are compared with the listing and never joined to a path, so ``../`` finds nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from ragbase_inference.gguf.errors import UnknownModelError
from ragbase_inference.gguf.facts import GgufKind

__all__ = ["KINDS", "SUFFIX", "GgufFile", "GgufFolder", "bare_name", "parts"]

SUFFIX = ".gguf"
KINDS: tuple[GgufKind, ...] = get_args(GgufKind)
"""In the order of the listing."""
_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}$")
"""Of a model in several files llama.cpp is given the first, and finds the rest."""


@dataclass(frozen=True, slots=True)
class GgufFile:
    """One model's file."""

    name: str
    """Without the suffix."""
    kind: GgufKind
    """The folder that it lies in."""
    path: Path
    bytes: int
    """Of all its parts."""
    version: str = ""
    """Another one where a file was put in the place of any of them, or written over."""


def bare_name(name: str) -> str:
    """``name`` without ``.gguf``: both forms name a model everywhere."""
    return name.removesuffix(SUFFIX)


class GgufFolder:
    """Looks anew at each call: files come and go while a server runs."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self) -> None:
        """Make the folders that are missing; raises `OSError`."""
        for kind in KINDS:
            (self.root / kind).mkdir(parents=True, exist_ok=True)

    def files(self) -> list[GgufFile]:
        """By kind, then by name. A folder that cannot be read counts as empty."""
        return [file for kind in KINDS for file in self._of_kind(kind)]

    def find(self, name: str, kind: GgufKind) -> GgufFile:
        """The file of that name and kind; raises `UnknownModelError`."""
        wanted = bare_name(name)
        for file in self._of_kind(kind):
            if file.name == wanted:
                return file
        raise UnknownModelError(f"there is no {kind} model {wanted!r}")

    def _of_kind(self, kind: GgufKind) -> Iterator[GgufFile]:
        try:
            paths = sorted((self.root / kind).iterdir())
        except OSError:
            return
        for path in paths:
            if path.suffix != SUFFIX or path.name.startswith(".") or _LATER_PART.search(path.stem):
                continue
            if not _is_text(path.stem):  # no answer could tell it, nor a request name it
                continue
            try:
                if path.is_file():
                    stats = [part.stat() for part in parts(path)]
                    size = sum(each.st_size for each in stats)
                    yield GgufFile(path.stem, kind, path, size, _version(stats))
            except OSError:  # removed meanwhile
                continue


def parts(path: Path) -> list[Path]:
    """All files of the model whose first file is ``path``."""
    first = re.fullmatch(r"(.+)-00001-of-(\d{5})", path.stem)
    if not first:
        return [path]
    return sorted(path.parent.glob(f"{_literal(first[1])}-*-of-{first[2]}{SUFFIX}"))


def _is_text(name: str) -> bool:
    """False of a name whose bytes are no UTF-8, which Python keeps as lone surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _literal(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)


def _version(stats: Sequence[os.stat_result]) -> str:
    """By what a file system tells without reading: a rename changes the first, writing the others."""
    told = [(each.st_ino, each.st_size, each.st_mtime_ns) for each in stats]
    return hashlib.blake2b(repr(told).encode(), digest_size=8).hexdigest()
