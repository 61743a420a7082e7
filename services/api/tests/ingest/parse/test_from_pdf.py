"""Text of PDFs."""

from __future__ import annotations

import pytest

from ragbase.errors import InvalidInputError, TooLargeError
from ragbase.ingest.parse.from_pdf import parse
from ragbase.ingest.parse.parsed import FileFacts
from ragbase.ingest.parse.pdf_text import with_words_mended

from ...sample_files import pdf

FACTS = FileFacts("a.pdf")


def test_pages_come_in_order_with_what_the_file_says_of_itself() -> None:
    info = {
        "Title": "Harbour rules",
        "Author": "Ann",
        "Keywords": "quay",
        "CreationDate": "D:20240131120000+01'00'",
        "ModDate": "D:2024",
        "Producer": "Printer",
    }
    found = parse(pdf(["Ships moor."], ["Café – at dusk."], info=info), FACTS)
    assert found.title == "Harbour rules"
    assert found.content == "Ships moor.\n\nCafé – at dusk."
    assert found.metadata == {
        "author": "Ann",
        "keywords": "quay",
        "file": {"pages": 2, "created": "2024-01-31T12:00:00+01:00", "modified": "2024"},
    }
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("info", "expected"),
    [
        ({"Title": "Microsoft Word - rules.doc"}, {"pages": 1}),
        ({"CreationDate": "yesterday"}, {"pages": 1}),
        ({"CreationDate": "D:20240131"}, {"pages": 1, "created": "2024-01-31"}),
        ({"CreationDate": "D:20240131120000Z"}, {"pages": 1, "created": "2024-01-31T12:00:00Z"}),
    ],
)
def test_what_says_nothing_is_left_out(info: dict[str, str], expected: dict[str, object]) -> None:
    found = parse(pdf(["text"], info=info), FACTS)
    assert (found.title, found.metadata) == ("", {"file": expected})


def test_the_outlines_titles_are_headings_and_nothing_else_is() -> None:
    data = pdf(
        ["1 Introduction", "# not a heading", "-----", "Introduction"],
        ["2.1 Mooring of ships", "text"],
        outline=[("Introduction", 0), ("2.1  Mooring of ships", 1), ("Not on its page", 1)],
    )
    assert parse(data, FACTS).content == (
        "# 1 Introduction\n\n\\# not a heading\n\\-----\nIntroduction\n\n"
        "# 2.1 Mooring of ships\n\ntext"
    )


def test_pages_without_text_are_told() -> None:
    found = parse(pdf(["text"], [], []), FACTS)
    (warning,) = found.warnings
    assert warning.code == "pages_without_text"
    assert warning.message.startswith("2 of 3 pages")


def test_a_scan_says_that_nothing_reads_it() -> None:
    with pytest.raises(InvalidInputError, match="OCR") as caught:
        parse(pdf([], []), FACTS)
    assert caught.value.code == "no_text"


def test_reading_stops_at_the_limit() -> None:
    with pytest.raises(TooLargeError, match="RAGBASE_MAX_TEXT_CHARS"):
        parse(pdf(["x" * 60], ["x" * 60]), FileFacts("a.pdf", max_chars=100))


def test_words_cut_at_line_ends_are_mended_in_a_real_file() -> None:
    lines = ["An exam-", "ple of a well-", "known text: dug well, known.", "Self-", "Help."]
    assert parse(pdf(lines), FACTS).content == (
        "An example of a well-known text: dug well, known.\nSelf-Help."
    )


@pytest.mark.parametrize(
    ("page", "mended"),
    [
        ("exam-\nple", "example"),
        ("exam\ufffeple", "example"),
        ("exam\x02ple", "example"),
        ("well-\nknown, but well and known", "well-known, but well and known"),
        ("e-\nmail and e-mail", "e-mail and e-mail"),
        ("data-\nbase, database, data, base", "database, database, data, base"),
        ("Self-\nHelp", "Self-Help"),
        ("AC-\ndc", "AC-dc"),
        ("1-\n2 and a-\n2", "1-\n2 and a-\n2"),
        ("un-\nbe-\nlievable", "unbelievable"),
        ("a list\n- item", "a list\n- item"),
    ],
)
def test_hyphens_go_where_the_document_writes_the_word_whole(page: str, mended: str) -> None:
    assert with_words_mended([page]) == [mended]
