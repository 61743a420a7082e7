"""Titles of files."""

from __future__ import annotations

import pytest

from ragbase.cli.titles import title_of


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
        ("no heading at all", "guide"),
        ("# [link](http://x) and ![alt](y)", "link and alt"),
    ],
)
def test_markdown_titles(text: str, title: str) -> None:
    assert title_of("notes/guide.md", text, markdown=True) == title


def test_plain_text_is_called_after_its_file() -> None:
    assert title_of("notes/to do.txt", "# not a heading here", markdown=False) == "to do"


def test_a_heading_far_down_is_no_title() -> None:
    assert title_of("a.md", "x\n\n" * 20_000 + "# Late", markdown=True) == "a"


def test_titles_are_bounded() -> None:
    assert len(title_of("a.md", "# " + "long " * 1000, markdown=True)) <= 500
