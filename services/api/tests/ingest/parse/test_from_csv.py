"""Rows of CSV files as blocks of named values."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.errors import InvalidInputError, TooLargeError
from ragbase.ingest.parse.from_csv import parse
from ragbase.ingest.parse.parsed import FileFacts

FACTS = FileFacts("a.csv")
BLOCKS = "ship: Ann, of Hull\ndepth: 3\n\nship: Bo\nnote: a b"


def text(content: str) -> str:
    return parse(content.encode(), FACTS).content


@pytest.mark.parametrize(
    "content",
    [
        'ship,depth,note\n"Ann, of Hull",3,\nBo,,"a\nb"\n',
        "ship;depth;note\r\nAnn, of Hull;3;\r\nBo;;a b\r\n",
        "ship\tdepth\tnote\nAnn, of Hull\t3\t\nBo\t\ta b",
        "ship|depth|note\nAnn, of Hull|3|\n||\n\nBo||a b",
        "sep=;\nship;depth;note\nAnn, of Hull;3;\nBo;;a b",
        "\ufeffship;depth;note\nAnn, of Hull;3;\nBo;;a b",
    ],
)
def test_each_row_names_its_values_whatever_divides_them(content: str) -> None:
    assert text(content) == BLOCKS


def test_encodings_of_spreadsheets_are_read() -> None:
    table = "Schiff;Größe;Länge\nMöwe;3;früh\nBär;4;spät\n"
    expected = "Schiff: Möwe\nGröße: 3\nLänge: früh\n\nSchiff: Bär\nGröße: 4\nLänge: spät"
    for encoding in ("utf-8-sig", "utf-16", "cp1252"):
        assert parse(table.encode(encoding), FACTS).content == expected


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ("1,2\n3,4", "column 1: 1\ncolumn 2: 2\n\ncolumn 1: 3\ncolumn 2: 4"),
        ("a,a\n3,4", "column 1: a\ncolumn 2: a\n\ncolumn 1: 3\ncolumn 2: 4"),
        ("a,b\n1,2,3", "a: 1\nb: 2\ncolumn 3: 3"),
        (",b\nx,2", "column 1: x\nb: 2"),
        ("a,b", "column 1: a\ncolumn 2: b"),
        ("", ""),
        ("\n , \n", ""),
    ],
)
def test_without_a_header_columns_are_numbered(content: str, blocks: str) -> None:
    assert text(content) == blocks


def test_cells_make_no_blocks() -> None:
    assert text("#,---\n# x,```\n") == "\\#: # x\n---: ```".replace("\\#:", "#:")


def test_more_text_than_the_limit_is_refused() -> None:
    with pytest.raises(TooLargeError, match="RAGBASE_MAX_TEXT_CHARS"):
        parse(b"a,b\n" + b"1,2\n" * 100, FileFacts("a.csv", max_chars=100))


def test_an_endless_cell_is_unreadable() -> None:
    with pytest.raises(InvalidInputError) as caught:
        text('a,b\n"' + "x" * 1_100_000)
    assert caught.value.code == "file_unreadable"


@given(
    st.lists(
        st.lists(
            st.text(alphabet="abc ,;\"'\n", min_size=1).filter(str.strip), min_size=2, max_size=2
        ),
        min_size=3,
        max_size=6,
    )
)
def test_every_cell_is_in_the_text(rows: list[list[str]]) -> None:
    file = io.StringIO()
    csv.writer(file).writerows([["first name", "second name"], *rows])
    found = " ".join(text(file.getvalue()).split())
    for row in rows:
        for cell in row:
            assert " ".join(cell.split()) in found
