"""Bytes to text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.ingest.parse.decode import decode

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
    assert warning == "Not UTF-8 (byte 3); read as Windows-1252."


@pytest.mark.parametrize(
    ("encoding", "shown", "text"),
    [
        ("gb18030", "GB18030", "船舶停靠在北码头。较大的船必须提前到达，因为大门在晚上十点关闭。"),
        (
            "shift_jis",
            "Shift-JIS",
            "船は北の埠頭に停泊します。大きな船は早く到着しなければなりません。",
        ),
        ("euc_jp", "EUC-JP", "船は北の埠頭に停泊します。大きな船は早く到着しなければなりません。"),
        ("big5", "Big5", "船舶停靠在北碼頭。較大的船必須提前到達，因為大門在晚上十點關閉。"),
        ("euc_kr", "EUC-KR", "배는 북쪽 부두에 정박합니다. 큰 배는 일찍 도착해야 합니다."),
        (
            "koi8_r",
            "KOI8-R",
            "Корабли стоят у северного причала. Большие лодки должны прибыть рано.",
        ),
        ("cp1251", "Windows-1251", "Корабли стоят у причала. Большие лодки должны прибыть рано."),
        (
            "cp1250",
            "Windows-1250",
            "Statki cumują przy północnym nabrzeżu. Większe łodzie wcześnie.",
        ),
        (
            "latin-1",
            "Windows-1252",
            "Die größeren Boote müssen früh ankommen, denn die Tür schließt.",
        ),
    ],
)
def test_older_encodings_are_told_apart(encoding: str, shown: str, text: str) -> None:
    found, warning = decode(text.encode(encoding))
    assert found == text
    assert warning is not None
    assert warning.endswith(f"read as {shown}.")


def test_a_few_accents_do_not_make_a_text_chinese() -> None:
    assert decode("name;price\nSüd;3\n".encode("cp1252"))[0] == "name;price\nSüd;3\n"


def test_a_declared_charset_is_believed_where_it_can_be_true() -> None:
    assert decode("港".encode("shift_jis"), "Shift_JIS") == ("港", None)
    assert decode("港".encode(), "iso-8859-1") == ("港", None)  # UTF-8 by its bytes
    for wrong in ("rot13", "no-such", "utf-8", "hex"):
        assert decode(b"caf\xe9", wrong)[0] == "café"


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
    with pytest.raises(ValueError, match=r"NUL|utf-16"):
        decode(data)
