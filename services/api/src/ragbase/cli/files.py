"""Finds the documents below given paths, and makes one upload of each, read when its turn comes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragbase.cli.errors import UsageError
from ragbase.ingest.parse.kinds import ENDINGS

if TYPE_CHECKING:
    from ragbase.sdk.upload import Draft, FileDraft, Source

__all__ = ["DEFAULT_GLOBS", "Found", "Warn", "find", "sources"]

JSON_LINES = ".jsonl"
DEFAULT_GLOBS = (*(f"*{ending}" for ending in ENDINGS), f"*{JSON_LINES}")


class NotADocumentError(ValueError):
    """What stands there cannot be made a document."""


Warn = Callable[[str, str], None]
"""Called with a document's name and what is odd about it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A document to be: a whole file, or one line of a JSON Lines corpus (``offset`` set)."""

    external_id: str
    path: Path
    size: int
    offset: int | None = None


def find(paths: Iterable[Path], globs: Sequence[str] = (), *, warn: Warn) -> list[Found]:
    """All documents below ``paths``, in a fixed order. Raises `UsageError` for what cannot be.

    A folder is walked without hidden entries; ids are paths relative to it, so a second run
    finds the same ids from wherever it is started. A file named itself is taken whatever its
    ending.
    """
    found: dict[str, Found] = {}
    for root in paths:
        for item in _below(root, globs, warn):
            other = found.setdefault(item.external_id, item)
            if other is not item:
                raise _same_id(item, other)
    return list(found.values())


def _same_id(item: Found, other: Found) -> UsageError:
    said = f"two documents would get the id {item.external_id!r}: "
    if item.path == other.path:
        return UsageError(f"{said}both are lines of {item.path}", "Give each line its own `_id`.")
    return UsageError(
        f"{said}{other.path} and {item.path}",
        "Ingest the folders one by one into collections of their own (--collection).",
    )


def sources(found: Iterable[Found]) -> list[Source]:
    """One upload a document; nothing is read yet."""
    from ragbase.sdk.upload import Source

    return [
        Source(item.external_id, partial(_file if item.offset is None else _line, item))
        for item in found
    ]


def _below(root: Path, globs: Sequence[str], warn: Warn) -> Iterator[Found]:
    if root.is_file():
        yield from _documents(root, root.name, named=True, warn=warn)
        return
    if not root.is_dir():
        raise UsageError(f"{root} does not exist", "Paths are files or folders.")
    for path in _walk(root, warn):
        relative = path.relative_to(root).as_posix()
        if _is_wanted(relative, globs):
            yield from _documents(path, relative, named=False, warn=warn)


def _walk(root: Path, warn: Warn) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        warn(str(error.filename), f"folder skipped: {error.strerror}")

    for folder, folders, names in os.walk(root, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file():
                yield path


def _is_wanted(relative: str, globs: Sequence[str]) -> bool:
    """Without globs: files of the kinds taken, ``.PDF`` as well as ``.pdf``."""
    if globs:
        return any(_matches(relative, glob) for glob in globs)
    return any(_matches(relative.lower(), glob) for glob in DEFAULT_GLOBS)


def _matches(relative: str, glob: str) -> bool:
    """As in a shell with globstar; ``*.md`` also means any depth."""
    return fnmatchcase(relative, glob) or fnmatchcase(relative, glob.removeprefix("**/"))


def _documents(path: Path, name: str, *, named: bool, warn: Warn) -> Iterator[Found]:
    if path.suffix.lower() != JSON_LINES:
        yield Found(name, path, path.stat().st_size)
        return
    if not named and not _is_corpus(path):
        warn(name, "skipped: its lines are no documents (no `_id`, `title` and `text`)")
        return
    yield from _lines(path)


def _is_corpus(path: Path) -> bool:
    """Whether the first line is a document; queries of a judged set, say, have no title."""
    with path.open("rb") as lines:
        try:
            first = json.loads(lines.readline().removeprefix(b"\xef\xbb\xbf"))
        except ValueError:
            return False
    return isinstance(first, dict) and {"_id", "title", "text"} <= first.keys()


def _lines(path: Path) -> Iterator[Found]:
    offset = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                external_id = _record_id(line) or f"{path.name}:{number}"
                yield Found(external_id, path, len(line), offset)
            offset += len(line)


def _record_id(line: bytes) -> str | None:
    """The ``_id`` of a line; a line without one fails later, under its line number."""
    try:
        return _text(_record(line), "_id")
    except ValueError:
        return None


def _file(item: Found) -> FileDraft | None:
    """The server reads files: it alone decides on their text, title and metadata."""
    from ragbase.sdk.upload import FileDraft

    return FileDraft(item.external_id, item.path) if item.path.stat().st_size else None


def _line(item: Found) -> Draft | None:
    from ragbase.sdk.upload import Draft

    assert item.offset is not None
    with item.path.open("rb") as file:
        file.seek(item.offset)
        record = _record(file.read(item.size))
    text = record.get("text")
    if not isinstance(text, str):
        raise NotADocumentError("`text` is missing or no string")
    if not text.strip():
        return None
    metadata = record.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise NotADocumentError("`metadata` is no object")
    title = str(record.get("title") or "").strip() or " ".join(text.split()[:8])[:80]
    return Draft(_text(record, "_id"), title, text, metadata)


def _record(line: bytes) -> dict[str, Any]:
    record = json.loads(line.removeprefix(b"\xef\xbb\xbf"))
    if not isinstance(record, dict):
        raise NotADocumentError("not a JSON object")
    return record


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise NotADocumentError(f"`{name}` is missing or blank")
    return value
