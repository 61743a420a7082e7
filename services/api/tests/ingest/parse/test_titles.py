"""Titles of files."""

from __future__ import annotations

import pytest

from ragbase.ingest.parse.from_markdown import parse
from ragbase.ingest.parse.parsed import FileFacts
from ragbase.ingest.parse.titles import sensible_title, stem


def title_of(text: str) -> str:
    return parse(text.encode(), FileFacts("guide.md")).title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *harbour* `rules` ##\n\ntext", "The harbour rules"),
        ("text first\n\n## Then a heading", "Then a heading"),
        ("Setext title\n============\n\ntext", "Setext title"),
        ("---\ntitle: 'From front matter'\ndate: 1\n---\n# Heading", "From front matter"),
        ("---\ndate: 1\n---\n# Heading", "Heading"),
        ("```\n# a comment\n```\n\n# Real", "Real"),
        ("# \n\n## Second", "Second"),
        ("no heading at all", ""),
        ("---\ntitle: 2024\n---\ntext", "2024"),
        ("---\ntitle: [a]\n---\n# Heading", "Heading"),
        ("# [link](http://x) and ![alt](y)", "link and alt"),
    ],
)
def test_markdown_titles(text: str, title: str) -> None:
    assert title_of(text) == title


def test_a_heading_far_down_is_no_title() -> None:
    assert title_of("x\n\n" * 20_000 + "# Late") == ""


def test_titles_are_bounded() -> None:
    assert len(title_of("# " + "long " * 1000)) <= 500


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("  Harbour\n rules ", "Harbour rules"),
        ("Document retention", "Document retention"),
        ("Untitled", ""),
        ("untitled 2", ""),
        ("Microsoft Word - rules.doc", ""),
        ("final_v3.docx", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_what_programs_call_a_document_is_no_title(given: object, title: str) -> None:
    assert sensible_title(given) == title


def test_a_stem_has_no_folder_and_no_ending() -> None:
    assert [stem(name) for name in ("notes/to do.txt", ".env", "a")] == ["to do", ".env", "a"]
