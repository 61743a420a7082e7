"""Taking headings away, and nothing else."""

from __future__ import annotations

import pytest

from ragbase.evaluation.ablation import strip_headings, without_headings
from ragbase.evaluation.dataset import JudgedDocument


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("# One\n\nbody\n\n## Two\n\nmore", "body\n\nmore"),
        ("# One\nbody", "body"),
        ("   ### Indented\nbody", "body"),
        ("#hashtag is text", "#hashtag is text"),
        ("    # indented code", "# indented code"),
        ("a\n\n```sh\n# comment\n```\n\n# Gone\nb", "a\n\n```sh\n# comment\n```\n\nb"),
        ("~~~\n# kept\n~~~~\n# Gone\nb", "~~~\n# kept\n~~~~\nb"),
        ("```\n# kept, never closed", "```\n# kept, never closed"),
        ("plain", "plain"),
    ],
)
def test_only_heading_lines_go(text: str, bare: str) -> None:
    assert strip_headings(text) == bare


def test_a_document_of_headings_alone_keeps_its_text() -> None:
    document = JudgedDocument("d", "Title", "# Only\n\n## Headings")
    assert without_headings([document]) == (document,)


def test_title_id_and_metadata_stay() -> None:
    document = JudgedDocument("d", "Title", "# Head\n\nbody", {"year": 1})
    assert without_headings([document]) == (JudgedDocument("d", "Title", "body", {"year": 1}),)
