"""The head of a GGUF file: what its model is, read without loading it.

Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Arrays, which hold vocabularies
of hundreds of thousands of words, are walked over and only counted: in a file that a 14-second
parse by the ``gguf`` package takes apart word by word, that takes a tenth of a second.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, TypeAlias

from ragbase_inference.gguf.errors import UnusableFileError

__all__ = ["Header", "Value", "read_header"]

Value: TypeAlias = int | float | bool | str

_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_MOST_ENTRIES = 1_000_000
"""Keys, or tensors; real models have tens of keys and at most some thousand tensors."""
_LONGEST_TEXT = 16 * 1024 * 1024
"""Bytes of one text; chat templates take some ten thousand."""
_LONGEST_ARRAY = 10_000_000
"""Items; vocabularies have some hundred thousand words."""
_STRING, _ARRAY = 8, 9
_SCALARS: Final = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Header:
    """What a GGUF file says of its model."""

    values: dict[str, Value]
    """Numbers and texts by key; of arrays nothing."""
    arrays: dict[str, int]
    """Their lengths by key."""
    tensors: frozenset[str]
    """Names of the weights."""

    @property
    def architecture(self) -> str:
        """llama.cpp's name of the model's structure: ``bert``, ``llama``."""
        return str(self.values.get("general.architecture", ""))

    def number(self, key: str) -> int | None:
        """The whole number at ``<architecture>.<key>``, if there is one."""
        value = self.values.get(f"{self.architecture}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) else None


def read_header(path: Path) -> Header:
    """Of the file at ``path``. Raises `UnusableFileError`, whose message holds no path."""
    try:
        with path.open("rb") as file:
            return _Reader(file).header()
    except OSError as error:
        raise UnusableFileError(f"the file cannot be read: {error.strerror}") from error
    except (struct.error, UnicodeError) as error:
        raise UnusableFileError("the file's head is cut short or not sound") from error


class _Reader:
    """Reads from the front on; `struct.error` where the file ends too early."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = os.fstat(file.fileno()).st_size

    def header(self) -> Header:
        if self._left == 0:
            raise UnusableFileError("the file is empty")
        if self._file.read(4) != _MAGIC:
            raise UnusableFileError("this is no GGUF file")
        self._left -= 4
        version = self._number("I")
        if version not in _VERSIONS:
            raise UnusableFileError(f"this is GGUF of version {version}; 2 and 3 are read")
        tensors, keys = self._number("Q"), self._number("Q")
        if tensors > _MOST_ENTRIES or keys > _MOST_ENTRIES:
            raise UnusableFileError("the file's head is not sound: it counts millions of entries")
        values: dict[str, Value] = {}
        arrays: dict[str, int] = {}
        for _ in range(keys):
            key, kind = self._text(), self._number("I")
            if kind == _ARRAY:
                arrays[key] = self._skip_array()
            else:
                values[key] = self._text() if kind == _STRING else self._scalar(kind)
        return Header(values, arrays, frozenset(self._tensor() for _ in range(tensors)))

    def _scalar(self, kind: int) -> Value:
        form = _SCALARS.get(kind)
        if form is None:
            raise UnusableFileError(f"the file's head is not sound: type {kind} is not known")
        value: Value = self._unpack(form)
        return value

    def _skip_array(self) -> int:
        kind, count = self._number("I"), self._number("Q")
        if count > _LONGEST_ARRAY:
            raise UnusableFileError("the file's head is not sound: an array of many millions")
        if kind in _SCALARS:
            self._skip(count * struct.calcsize("<" + _SCALARS[kind]))
        elif kind == _STRING:
            for _ in range(count):
                self._skip(self._number("Q"))
        else:
            raise UnusableFileError("the file's head is not sound: an array of arrays")
        return count

    def _tensor(self) -> str:
        name, dimensions = self._text(), self._number("I")
        self._skip(8 * dimensions + 4 + 8)  # shape, type, place
        return name

    def _text(self) -> str:
        length = self._number("Q")
        if length > _LONGEST_TEXT:
            raise UnusableFileError("the file's head is not sound: a text of many megabytes")
        return self._read(length).decode()

    def _number(self, form: str) -> int:
        return int(self._unpack(form))

    def _unpack(self, form: str) -> int | float | bool:
        value: int | float | bool
        (value,) = struct.unpack("<" + form, self._read(struct.calcsize("<" + form)))
        return value

    def _read(self, count: int) -> bytes:
        self._take(count)
        return self._file.read(count)

    def _skip(self, count: int) -> None:
        self._take(count)
        self._file.seek(count, os.SEEK_CUR)

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise struct.error("the file ends too early")
