"""Bytes to text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.cli.decode import decode

SAMPLE = "naïve – 港 ☂"


@pytest.mark.parametrize(
    "data",
    [
        SAMPLE.encode(),
        codecs.BOM_UTF8 + SAMPLE.encode(),
        SAMPLE.encode("utf-16"),
        codecs.BOM_UTF16_BE + SAMPLE.encode("utf-16-be"),
        SAMPLE.encode("utf-32"),
        codecs.BOM_UTF32_BE + SAMPLE.encode("utf-32-be"),
    ],
)
def test_marks_and_utf8_are_sure(data: bytes) -> None:
    assert decode(data) == (SAMPLE, None)


def test_other_bytes_are_windows_1252_with_a_warning() -> None:
    text, warning = decode("caf\xe9 \u20ac".encode("cp1252"))
    assert text == "café €"
    assert warning == "not UTF-8 (byte 3); read as Windows-1252"


@given(st.binary().filter(lambda data: b"\0" not in data))
def test_any_bytes_without_nul_are_text(data: bytes) -> None:
    try:
        text, _ = decode(data)
    except ValueError:
        assert data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF8))
    else:
        text.encode()  # no surrogates


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\0\0", b"a\0b", codecs.BOM_UTF16_LE + b"\xd8"])
def test_binary_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"binary|utf-16"):
        decode(data)
