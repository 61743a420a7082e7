"""Bytes of a text file to text, whoever wrote it."""

from __future__ import annotations

import codecs
import re
from typing import Final

from charset_normalizer import from_bytes

__all__ = ["decode"]

_MARKS: Final = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_GUESSES: Final = (
    *("cp1252", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "koi8_r"),
    *("gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"),
)
"""What files of the last decades are in. With all of Python's 90 codecs a guess is often a codec
that nobody uses, because it too gives letters."""
_WINDOWS_1252: Final = "cp1252"
_HIGH: Final = re.compile(rb"[\x80-\xff]+")
_RUN_SHARE: Final = 0.4
"""Accents stand alone between letters, other scripts' bytes in runs. A guess in which no language
was seen is taken for the latter only."""
_NAMES: Final = {
    "gb18030": "GB18030",
    "koi8_r": "KOI8-R",
    "euc_jp": "EUC-JP",
    "euc_kr": "EUC-KR",
    "shift_jis": "Shift-JIS",
}


def decode(data: bytes, charset: str | None = None) -> tuple[str, str | None]:
    """The text, and a warning where its encoding had to be guessed.

    A byte order mark decides; then UTF-8; then ``charset``, if the file or its sender declare one;
    then a guess, and Windows-1252, in which any bytes are text, where nothing speaks for another.
    Raises `ValueError` for what is no text at all (NUL bytes, or a mark that the rest belies).
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding), None  # UnicodeDecodeError is a ValueError
    if (place := data.find(b"\0")) >= 0:
        raise ValueError(f"a NUL byte at position {place}: looks like a binary file")
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        text = None if charset is None else _declared(data, charset)
        if text is not None:
            return text, None
        text, encoding = _guessed(data)
        return text, f"Not UTF-8 (byte {error.start}); read as {_shown(encoding)}."


def _declared(data: bytes, charset: str) -> str | None:
    """None where the declaration cannot be true, or names no encoding of text."""
    try:
        codec = codecs.lookup(charset)
        return data.decode(codec.name) if codec._is_text_encoding else None
    except (LookupError, ValueError):
        return None


def _guessed(data: bytes) -> tuple[str, str]:
    western = _as_windows_1252(data)
    best = from_bytes(data, cp_isolation=list(_GUESSES)).best()
    if best is None or (best.coherence == 0 and _run_share(data) < _RUN_SHARE):
        return western, _WINDOWS_1252
    text = str(best)
    return (western, _WINDOWS_1252) if text == western else (text, best.encoding)


def _run_share(data: bytes) -> float:
    """Share of the bytes beyond ASCII that stand side by side."""
    runs = [len(run) for run in _HIGH.findall(data)]
    return sum(length for length in runs if length > 1) / max(1, sum(runs))


def _as_windows_1252(data: bytes) -> str:
    """Windows-1252, with its five unassigned bytes as in Latin-1 (the WHATWG's reading)."""
    return data.decode("cp1252", errors="ragbase.latin1")


def _as_latin_1(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("ragbase.latin1", _as_latin_1)


def _shown(encoding: str) -> str:
    if encoding.startswith("cp"):
        return f"Windows-{encoding[2:]}"
    return _NAMES.get(encoding, encoding.replace("_", "-").title())
