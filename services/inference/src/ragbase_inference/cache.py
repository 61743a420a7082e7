"""The user's cache of converted models, and the remembered digests of weight files."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ragbase_inference.errors import ModelUnavailableError

__all__ = ["cache_root", "file_digest", "is_marked", "mark", "publish_folder"]

log = logging.getLogger(__name__)


def cache_root() -> Path:
    """``$RAGBASE_CACHE``, else ``ragbase`` in the user's cache folder; made if absent.

    Raises `ModelUnavailableError` where it cannot be made. A shared folder such as ``/tmp`` is
    never used unasked: whoever writes there first would choose the model that we run.
    """
    root = _configured_root()
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ModelUnavailableError(
            f"the model cache {root} cannot be made ({error.strerror}); "
            "set RAGBASE_CACHE to a folder that can be written"
        ) from error
    return root


def _configured_root() -> Path:
    if own := os.environ.get("RAGBASE_CACHE"):
        return Path(own).expanduser()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "ragbase"
    return Path("~/.cache/ragbase").expanduser()


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hex; remembered by real path, size and time of change.

    Hashing 90 MB costs a tenth of a second to one second; a start should not pay it twice.
    """
    real = path.resolve()
    stat = real.stat()
    identity = f"{real}\0{stat.st_size}\0{stat.st_mtime_ns}"
    marker = _marker("digests", identity)
    try:
        return marker.read_text(encoding="ascii")
    except FileNotFoundError:
        pass
    with real.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    _write_atomically(marker, digest)
    return digest


def mark(kind: str, fact: str) -> None:
    """Remember a fact across starts."""
    _write_atomically(_marker(kind, fact), "")


def is_marked(kind: str, fact: str) -> bool:
    """Whether `mark` was called with the same arguments, on this cache."""
    return _marker(kind, fact).is_file()


def _marker(kind: str, fact: str) -> Path:
    return cache_root() / kind / hashlib.sha256(fact.encode()).hexdigest()


def _write_atomically(path: Path, text: str) -> None:
    with _writable(path.parent):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".tmp-")
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(text)
        Path(name).replace(path)


def publish_folder(target: Path, fill: Callable[[Path], None]) -> Path:
    """Make ``target`` by ``fill`` (given an empty folder) unless it exists; all or nothing.

    Two processes may fill at once: the first rename wins and the other's work is dropped. A
    process that dies leaves a ``.tmp-`` folder that nothing reads.
    """
    if target.is_dir():
        return target
    with _writable(target.parent):
        draft = Path(tempfile.mkdtemp(dir=target.parent, prefix=".tmp-"))
        try:
            fill(draft)
            _move_into_place(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return target


def _move_into_place(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        log.debug("another process was first with %s", target.name)


@contextmanager
def _writable(folder: Path) -> Iterator[None]:
    """Make the folder; turn a full or read-only disk into an error that says what to do."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise ModelUnavailableError(
            f"the model cache {folder} cannot be written ({error.strerror}); "
            "free some space or set RAGBASE_CACHE to another folder"
        ) from error
