"""The files that are there: listed with what they are, checked against their sums, removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbase_inference.gguf.errors import UnknownModelError, UnusableFileError
from ragbase_inference.gguf.facts import GgufKind, read_facts
from ragbase_inference.gguf.folder import GgufFile, GgufFolder, bare_name, parts
from ragbase_inference.gguf.header import read_header
from ragbase_inference.gguf.pull import checksum_file, file_sha256

__all__ = ["Check", "StoredModel", "remove", "stored_models"]

Check: TypeAlias = Literal["ok", "changed", "unknown"]
"""Of the bytes: as they came, other ones, or no sum is kept."""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """One file of the folders."""

    file: GgufFile
    architecture: str
    """"" where the file is no model."""
    problem: str
    """Why it cannot be used in its folder; "" where it can."""
    check: Check | None
    """None: not asked for."""


def stored_models(folder: GgufFolder, *, check: bool = False) -> list[StoredModel]:
    """By folder and name. ``check`` reads every byte. Raises `OSError`."""
    return [_stored(file, check=check) for file in folder.files()]


def _stored(file: GgufFile, *, check: bool) -> StoredModel:
    checked = _check(file) if check else None
    try:
        facts = read_facts(read_header(file.path))
    except UnusableFileError as error:
        return StoredModel(file, "", str(error), checked)
    wrong = f"it is of the kind {facts.kind}" if facts.kind != file.kind else ""
    return StoredModel(file, facts.architecture, wrong, checked)


def _check(file: GgufFile) -> Check:
    try:
        known = checksum_file(file.path).read_text(encoding="utf-8").split()[0]
    except (OSError, IndexError):
        return "unknown"
    return "ok" if known == file_sha256(file.path) else "changed"


def remove(folder: GgufFolder, name: str, kind: GgufKind | None = None) -> GgufFile:
    """Delete a model and its sum. Raises `UnknownModelError`, also where several have the name."""
    found = [
        file
        for file in folder.files()
        if file.name == bare_name(name) and kind in (None, file.kind)
    ]
    if len(found) > 1:
        kinds = " and ".join(file.kind for file in found)
        raise UnknownModelError(f"{name!r} is the name of {kinds} models: say which (--kind)")
    if not found:
        raise UnknownModelError(f"there is no model {bare_name(name)!r}")
    for path in parts(found[0].path):
        path.unlink()
    checksum_file(found[0].path).unlink(missing_ok=True)
    return found[0]
