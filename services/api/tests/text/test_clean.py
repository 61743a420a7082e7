"""Cleaning of texts and metadata at the door."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ragbase.errors import InvalidInputError
from ragbase.text.clean import METADATA_DEPTH_MAX, clean_metadata, clean_text


def test_text_is_stored_composed() -> None:
    assert clean_text("cafe\u0301", "content") == "caf\u00e9"


def test_everything_else_stays_as_it_is() -> None:
    text = "a\tb\r\n\u200b 👨‍👩‍👧 Ａ ﬁ \ufeff"
    assert clean_text(text, "content") == text


@pytest.mark.parametrize("field", ["content", "title", "external_id", "query"])
@pytest.mark.parametrize(("bad", "name"), [("\x00", "U+0000"), ("\ud83d", "U+D83D")])
def test_unstorable_characters_name_their_field(field: str, bad: str, name: str) -> None:
    """B001, B005: refused whole, with the field and the place, before anything is stored."""
    with pytest.raises(InvalidInputError) as caught:
        clean_text(f"abc{bad}def", field)
    assert (caught.value.status, caught.value.code, caught.value.field) == (
        422,
        "invalid_text",
        field,
    )
    assert name in caught.value.message
    assert "position 3" in caught.value.message
    assert bad not in caught.value.message


def test_a_surrogate_far_inside_a_long_text_is_found() -> None:
    """B005."""
    with pytest.raises(InvalidInputError, match="position 500000"):
        clean_text("x" * 500_000 + "\udc00" + "y" * 500_000, "content")


def test_metadata_is_cleaned_at_every_depth() -> None:
    raw = {"cafe\u0301": ["cafe\u0301", {"k": "e\u0301"}], "n": 1, "f": 1.5, "b": True, "z": None}
    assert clean_metadata(raw) == {
        "caf\u00e9": ["caf\u00e9", {"k": "\u00e9"}],
        "n": 1,
        "f": 1.5,
        "b": True,
        "z": None,
    }


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"a": {"b": ["ok", "x\x00"]}}, "metadata.a.b.1"),
        ({"a": "\ud800"}, "metadata.a"),
        ({"a\x00": 1}, "metadata key"),
        ({"a": {"\udfff": 1}}, "metadata.a key"),
    ],
)
def test_unstorable_metadata_names_its_path(metadata: dict[str, Any], field: str) -> None:
    """B001, B003: keys and values, escaped NUL included once JSON is read."""
    with pytest.raises(InvalidInputError) as caught:
        clean_metadata(metadata)
    assert (caught.value.code, caught.value.field) == ("invalid_text", field)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        2**64,
        -(2**63) - 1,
        b"bytes",
        {1: "x"},
        {"é": 1, "e\u0301": 2},
    ],
)
def test_what_json_cannot_carry_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        clean_metadata({"k": value})
    assert (caught.value.code, caught.value.field) == ("invalid_metadata", "metadata.k")


@pytest.mark.parametrize("value", [2**64 - 1, -(2**63), 0, 1e308])
def test_numbers_within_json_pass(value: float) -> None:
    assert clean_metadata({"k": value}) == {"k": value}


def test_nesting_is_bounded() -> None:
    fits: Any = "x"
    for _ in range(METADATA_DEPTH_MAX - 1):
        fits = {"k": fits}
    assert clean_metadata({"k": fits}) == {"k": fits}
    with pytest.raises(InvalidInputError, match="nested deeper"):
        clean_metadata({"k": {"k": fits}})
    endless: Any = []
    for _ in range(100_000):
        endless = [endless]
    with pytest.raises(InvalidInputError, match="nested deeper"):
        clean_metadata({"k": endless})
