"""Fetches a model's file: goes on where it stopped, checks what came, and puts it in place whole."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx
from filelock import FileLock, Timeout

from ragbase_inference.gguf.errors import UnusableFileError, WrongKindOfFileError
from ragbase_inference.gguf.facts import GgufKind, read_facts
from ragbase_inference.gguf.folder import SUFFIX, GgufFile, GgufFolder
from ragbase_inference.gguf.header import read_header
from ragbase_inference.gguf.sources import Source, checked_url

__all__ = ["PullError", "Pulled", "checksum_file", "file_sha256", "pull"]

Progress = Callable[[int, int | None], None]
"""Told the bytes there are, and those there will be if that is known."""

_TRIES = 5
_KEEP_FREE = 256 * 1024 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_MOST_REDIRECTS = 10


class PullError(Exception):
    """The file cannot be had, or is not what it should be; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """What is in its place now."""

    file: GgufFile
    sha256: str
    verified: bool
    """Whether the sum was known before the file came."""
    fetched: int
    """Bytes that came over the network now; 0: it was there."""


@dataclass(frozen=True, slots=True)
class _Remote:
    """What the server says of the file."""

    url: str
    """Behind all redirects."""
    size: int | None
    tag: str | None
    sha256: str | None
    """Hubs tell it of large files."""
    headers: dict[str, str]
    """The key, unless redirects lead to another host."""


def pull(
    source: Source,
    folder: GgufFolder,
    *,
    kind: GgufKind | None = None,
    sha256: str | None = None,
    hub_key: str = "",
    progress: Progress | None = None,
    timeout_s: float = 30.0,
) -> Pulled:
    """Fetch ``source`` into the folder of ``kind``, or of what the file turns out to be.

    A file that is there with the right sum is left alone; one with another is replaced at the very
    end. Raises `PullError`, `UnusableFileError`, `WrongKindOfFileError`.
    """
    wanted = sha256.lower() if sha256 else None
    if wanted is not None and not _SHA256.fullmatch(wanted):
        raise PullError("a SHA-256 sum has 64 hexadecimal digits")
    headers = {"Authorization": f"Bearer {hub_key}"} if hub_key and source.of_hub else {}
    try:
        folder.create()
        with (
            _alone(folder.root / f".{source.name}{SUFFIX}.lock"),
            httpx.Client(timeout=timeout_s, headers={"Accept-Encoding": "identity"}) as http,
        ):
            remote = _look(http, source.url, headers)
            if wanted and remote.sha256 and wanted != remote.sha256:
                raise PullError(f"the server's file has the sum {remote.sha256}, not {wanted}")
            expected = wanted or remote.sha256
            there = _already(folder, source.name, kind, expected)
            if there is not None:
                return there
            part = folder.root / f".{source.name}{SUFFIX}.part"
            fetched = _fetch(http, remote, part, progress)
            return _put_in_place(part, source.name, folder, kind, expected, fetched)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        why = str(error) or type(error).__name__
        raise PullError(f"{source.url} cannot be fetched: {why}") from error
    except OSError as error:
        raise PullError(f"the file cannot be written: {error.strerror}") from error


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two processes would write into one another's file; `PullError` for the second."""
    try:
        with FileLock(path, timeout=0):
            yield
            path.unlink(missing_ok=True)
    except Timeout as error:
        raise PullError("another process is fetching this model already") from error


def _look(http: httpx.Client, url: str, headers: dict[str, str]) -> _Remote:
    """Follow redirects by hand: the first server tells the sum, and the key is for it alone."""
    sha256, host = None, urlsplit(url).netloc
    for _ in range(_MOST_REDIRECTS):
        key = headers if urlsplit(url).netloc == host else {}
        answer = http.head(url, headers=key)
        linked = answer.headers.get("x-linked-etag", "").strip('"')
        sha256 = sha256 or (linked if _SHA256.fullmatch(linked) else None)
        if answer.status_code not in _REDIRECTS:
            break
        url = _redirected(url, answer.headers.get("location", ""))
    if not answer.is_success:
        raise PullError(f"{answer.url} answers {answer.status_code}{_advice(answer.status_code)}")
    length = answer.headers.get("content-length")
    return _Remote(url, int(length) if length else None, answer.headers.get("etag"), sha256, key)


def _redirected(url: str, location: str) -> str:
    try:
        return checked_url(urljoin(url, location))
    except ValueError as error:
        raise PullError(f"the server leads elsewhere: {error}") from error


def _advice(status: int) -> str:
    return {
        401: ": it needs a key (HF_TOKEN)",
        403: ": accept the model's terms at the hub and set HF_TOKEN",
        404: ": no such file",
    }.get(status, "")


def _already(
    folder: GgufFolder, name: str, kind: GgufKind | None, sha256: str | None
) -> Pulled | None:
    if sha256 is None:
        return None
    for file in folder.files():
        if file.name == name and kind in (None, file.kind) and file_sha256(file.path) == sha256:
            return Pulled(file, sha256, verified=True, fetched=0)
    return None


def _fetch(http: httpx.Client, remote: _Remote, part: Path, progress: Progress | None) -> int:
    """Bytes that came now. A break is taken up where it was, unless the server's file changed."""
    tag = part.with_suffix(".tag")
    known = tag.read_text(encoding="utf-8") if tag.exists() else None
    if part.exists() and (remote.tag is None or known != remote.tag):
        part.unlink()
    tag.write_text(remote.tag or "", encoding="utf-8")
    begun = part.stat().st_size if part.exists() else 0
    _check_room(part, remote.size, begun)
    for attempt in range(1, _TRIES + 1):
        try:
            _stream(http, remote, part, progress)
            break
        except httpx.TransportError:
            if attempt == _TRIES:
                raise
    tag.unlink()
    return part.stat().st_size - begun


def _check_room(part: Path, size: int | None, begun: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if size is not None and size - begun > free - _KEEP_FREE:
        raise PullError(f"the disk has {free:,} bytes left, and the file has {size:,}")


def _stream(http: httpx.Client, remote: _Remote, part: Path, progress: Progress | None) -> None:
    done = part.stat().st_size if part.exists() else 0
    if remote.size is not None and done == remote.size:
        return
    resume = {"Range": f"bytes={done}-", "If-Range": remote.tag or ""} if done else {}
    with http.stream("GET", remote.url, headers=remote.headers | resume) as answer:
        if answer.status_code not in (200, 206):
            raise PullError(f"{remote.url} answers {answer.status_code}")
        begins = answer.headers.get("content-range", "").startswith(f"bytes {done}-")
        mode = "ab" if answer.status_code == 206 and begins else "wb"
        done = done if mode == "ab" else 0
        with part.open(mode) as file:
            for block in answer.iter_bytes():
                file.write(block)
                done += len(block)
                if progress is not None:
                    progress(done, remote.size)
            file.flush()
            os.fsync(file.fileno())
    if remote.size is not None and done != remote.size:
        raise httpx.RemoteProtocolError(f"{done} of {remote.size} bytes came")


def _put_in_place(
    part: Path,
    name: str,
    folder: GgufFolder,
    kind: GgufKind | None,
    expected: str | None,
    fetched: int,
) -> Pulled:
    """Move the whole, checked file to its folder; a bad one is removed. Raises `OSError`, too."""
    sha256 = file_sha256(part)
    if expected is not None and sha256 != expected:
        part.unlink()
        raise PullError(f"what came has the sum {sha256}, not {expected}: it was removed")
    try:
        found = _kind_of(part, kind)
    except (UnusableFileError, WrongKindOfFileError):
        part.unlink()
        raise
    target = folder.root / found / f"{name}{SUFFIX}"
    part.replace(target)
    checksum_file(target).write_text(f"{sha256}  {target.name}\n", encoding="utf-8")
    return Pulled(folder.find(name, found), sha256, expected is not None, fetched)


def _kind_of(path: Path, wanted: GgufKind | None) -> GgufKind:
    found = read_facts(read_header(path)).kind
    if wanted not in (None, found):
        raise WrongKindOfFileError(f"the file is of the kind {found}, not {wanted}")
    return found


def checksum_file(path: Path) -> Path:
    """Beside the model, in the form that ``sha256sum --check`` reads."""
    return path.with_name(f"{path.name}.sha256")


def file_sha256(path: Path) -> str:
    """The sum of a file's bytes, in hexadecimal; raises `OSError`."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
