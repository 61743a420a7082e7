"""Bytes of a text file to text, whoever wrote it."""

from __future__ import annotations

import codecs

__all__ = ["decode"]

_MARKS = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> tuple[str, str | None]:
    """The text, and a warning where its encoding had to be guessed.

    A byte order mark decides; then UTF-8; then Windows-1252, in which any bytes are text. Raises
    `ValueError` for what is no text at all (NUL bytes, or a mark that the rest belies).
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding), None  # UnicodeDecodeError is a ValueError
    if b"\0" in data:
        raise ValueError("looks like a binary file (it has NUL bytes)")
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        text = _as_windows_1252(data)
        return text, f"not UTF-8 (byte {error.start}); read as Windows-1252"


def _as_windows_1252(data: bytes) -> str:
    """Windows-1252, with its five unassigned bytes as in Latin-1 (the WHATWG's reading)."""
    return "".join(bytes([byte]).decode("cp1252", errors="ignore") or chr(byte) for byte in data)
