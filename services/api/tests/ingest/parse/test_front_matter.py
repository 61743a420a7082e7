"""Front matter as metadata."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.ingest.parse.from_markdown import parse
from ragbase.ingest.parse.front_matter import front_matter
from ragbase.ingest.parse.parsed import FileFacts


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2024", 2024),
        ("-1.5", -1.5),
        ("1.10", "1.10"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("99999999999999999999", "99999999999999999999"),
        ("2024-01-02", "2024-01-02"),
        ("1:30", "1:30"),
        ("no", "no"),
        ("nan", "nan"),
        ("true", True),
        ("null", None),
        ("", None),
        ('"2024"', "2024"),
        ("[a, 1]", ["a", 1]),
        ("{b: 1}", {"b": 1}),
    ],
)
def test_values_stay_what_was_written(written: str, value: Any) -> None:
    """B041: a version is no number."""
    found = front_matter(f"---\nkey: {written}\n---\ntext")
    assert found == {"key": value}
    assert type(found["key"]) is type(value)


@pytest.mark.parametrize(
    "text",
    ["text", "--- \n", "----\na: 1\n----\n", " ---\na: 1\n---\n", "---\n- a\n---\n", "---\n---\n"],
)
def test_no_front_matter_is_none(text: str) -> None:
    assert front_matter(text) == {}


@pytest.mark.parametrize(
    "inner",
    [
        "a: [",
        "a: &x [1]\nb: *x",
        "!!python/object/apply:os.system [x]",
        "a: !!int x",
        "a: " + "[" * 5000,
        "a: " + "x" * 17_000,
        "a: 1\na\tb",
    ],
)
def test_what_cannot_be_read_is_left_as_text_with_a_warning(inner: str) -> None:
    text = f"---\n{inner}\n---\n# Heading"
    found = parse(text.encode(), FileFacts("a.md"))
    assert (found.title, found.content, found.metadata) == ("Heading", text, {})
    assert [warning.code for warning in found.warnings] == ["front_matter_unreadable"]


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>%@#'\"?, \n\t0.~"), max_size=80))
def test_any_front_matter_is_a_mapping_or_a_value_error(inner: str) -> None:
    try:
        found = front_matter(f"---\n{inner}\n---\n")
    except ValueError:
        return
    assert all(isinstance(key, str) for key in found)


def test_keys_that_are_no_text_are_named_as_json_writes_them() -> None:
    assert front_matter("---\n~: a\ntrue: b\n2: c\n---\n") == {"null": "a", "true": "b", "2": "c"}
