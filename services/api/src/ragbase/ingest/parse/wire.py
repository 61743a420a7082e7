"""What API and parser process say to each other: a head in JSON, then a file's bytes; one answer."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO, Final

from ragbase.errors import (
    InvalidInputError,
    RagBaseError,
    TooLargeError,
    UnsupportedMediaTypeError,
)
from ragbase.ingest.parse.kinds import FileKind
from ragbase.ingest.parse.parsed import FileWarning, ParsedFile

__all__ = ["LENGTH", "Job", "answer_bytes", "answer_max", "error_bytes", "parsed_file", "read_job"]

LENGTH: Final = struct.Struct("!I")
"""Stands before a head and before an answer: how many bytes follow."""
_HEAD_MAX: Final = 65_536
_ERRORS: Final = (UnsupportedMediaTypeError, TooLargeError, InvalidInputError)


@dataclass(frozen=True, slots=True)
class Job:
    """One file to read, and within what bounds."""

    kind: FileKind
    name: str
    size: int
    max_chars: int
    timeout_s: float
    memory_bytes: int
    charset: str | None = None

    def head(self) -> bytes:
        """What goes before the file's bytes."""
        encoded = json.dumps(asdict(self)).encode("ascii")
        return LENGTH.pack(len(encoded)) + encoded


def read_job(stream: BinaryIO) -> Job:
    """Read a head. Raises `ValueError` for anything else."""
    length = LENGTH.unpack(_exactly(stream, LENGTH.size))[0]
    if length > _HEAD_MAX:
        raise ValueError("not a job")
    return Job(**json.loads(_exactly(stream, length)))


def _exactly(stream: BinaryIO, count: int) -> bytes:
    found = stream.read(count)
    if len(found) < count:
        raise ValueError("the connection ended")
    return found


def answer_bytes(parsed: ParsedFile) -> bytes:
    """The answer for a file that was read."""
    return _frame(asdict(parsed))


def error_bytes(error: RagBaseError) -> bytes:
    """The answer for a file that was not."""
    return _frame({"error": error.message, "code": error.code, "status": error.status})


def _frame(answer: dict[str, Any]) -> bytes:
    try:
        encoded = json.dumps(answer, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:  # lone surrogates, which whoever reads the answer has to judge
        encoded = json.dumps(answer, default=str).encode("ascii")
    return LENGTH.pack(len(encoded)) + encoded


def answer_max(max_chars: int) -> int:
    """Most bytes of an honest answer: six a character, and the metadata."""
    return 6 * max_chars + 1024 * 1024


def parsed_file(answer: bytes) -> ParsedFile:
    """The answer's file. Raises the error that it tells, and `ValueError` for a broken answer."""
    try:
        read = json.loads(answer)
        if "error" in read:
            raise _error(int(read["status"]), str(read["error"]), str(read["code"]))
        return ParsedFile(
            _string(read["title"]),
            _string(read["content"]),
            dict(read["metadata"]),
            tuple(FileWarning(_string(w["code"]), _string(w["message"])) for w in read["warnings"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("not an answer") from error


def _error(status: int, message: str, code: str) -> RagBaseError:
    kind = next((kind for kind in _ERRORS if kind.status == status), InvalidInputError)
    return kind(message, code=code, field="file")


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value
