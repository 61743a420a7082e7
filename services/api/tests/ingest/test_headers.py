"""The header of a chunk where it is indexed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.ingest.headers import HEADER_BUDGET, indexed_content, title_line


def test_title_and_scalars_in_the_given_order() -> None:
    """R46: scalars only, numbers and booleans in JSON notation."""
    metadata = {
        "year": 2024,
        "draft": False,
        "ratio": 1.5,
        "author": "Ann",
        "tags": ["x"],
        "nested": {"a": 1},
        "none": None,
        "blank": " ",
    }
    assert title_line("Guide", metadata) == (
        "[Guide | year: 2024 | draft: false | ratio: 1.5 | author: Ann]"
    )


def test_a_title_alone() -> None:
    assert title_line("Guide", {}) == "[Guide]"


def test_line_ends_become_spaces() -> None:
    assert title_line("A\nB", {"k\n1": "x\r\n y"}) == "[A B | k 1: x y]"


def test_long_values_are_left_out_and_the_rest_is_capped() -> None:
    """R46, B011: a value or title of 10 kB does not push the text out of the embedder's sight."""
    line = title_line("T", {"long": "x" * 10_000, **{f"key{i}": i for i in range(1000)}})
    assert line.startswith("[T | key0: 0 | key1: 1")
    assert len(line) <= 4 * HEADER_BUDGET + 2
    assert len(title_line("word " * 2_000, {})) <= 4 * HEADER_BUDGET + 3
    assert len(title_line("中" * 10_000, {})) <= HEADER_BUDGET + 3


@pytest.mark.parametrize(
    ("breadcrumb", "context", "expected"),
    [
        ((), "", "[T] text"),
        (("A", "B"), "", "[T] [A > B] text"),
        ((), "About it.", "[T] About it. text"),
        (("A",), "About it.", "[T] [A] About it. text"),
        (("", " "), "", "[T] text"),
    ],
)
def test_parts_stand_in_order_and_the_text_is_last(
    breadcrumb: tuple[str, ...], context: str, expected: str
) -> None:
    assert indexed_content("[T]", breadcrumb, context, "text") == expected


def test_a_long_breadcrumb_loses_its_outer_headings() -> None:
    line = indexed_content("[T]", [f"Heading number {i}" for i in range(50)], "", "text")
    assert "Heading number 49] text" in line
    assert len(line) < 4 * HEADER_BUDGET + 20
    assert len(indexed_content("[T]", ["x" * 5_000], "", "text")) < 4 * HEADER_BUDGET + 20


@given(
    st.text(),
    st.dictionaries(st.text(), st.none() | st.booleans() | st.floats() | st.integers() | st.text()),
)
def test_a_header_is_always_one_bounded_line(title: str, metadata: dict[str, object]) -> None:
    line = title_line(title, metadata)
    assert line[0] == "["
    assert line[-1] == "]"
    assert len(line.splitlines()) == 1
    assert len(line) <= 4 * HEADER_BUDGET + 3
