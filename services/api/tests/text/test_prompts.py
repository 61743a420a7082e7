"""Prompt files: replaced in one pass, checked at the start, changed by a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbase.errors import ConfigurationError
from ragbase.text.prompts import Prompts


def test_the_document_goes_in_front_of_the_chunk() -> None:
    """Contract §10: the document is the fixed front, for the server's prefix cache."""
    prompt = Prompts.load().fill("contextual_retrieval", document="DOC", chunk="CHUNK")
    assert 0 < prompt.index("DOC") < prompt.index("CHUNK")
    assert "<!--" not in prompt
    assert "{{" not in prompt


def test_what_is_put_in_is_not_looked_at_again() -> None:
    """Contract §10, B081: text of a document that looks like a placeholder stays text."""
    prompt = Prompts.load().fill(
        "contextual_retrieval", document="{{chunk}} {{x}} {a} \\1", chunk="C{{document}}"
    )
    assert "{{chunk}} {{x}} {a} \\1" in prompt
    assert "C{{document}}" in prompt


def test_a_file_in_the_folder_takes_the_place_of_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "contextual_retrieval.md").write_text(
        "<!-- mine -->\nD={{document}} C={{chunk}} {{other}} { }"
    )
    prompts = Prompts.load(tmp_path)
    assert prompts.fill("contextual_retrieval", document="d", chunk="c") == "D=d C=c {{other}} { }"
    assert prompts.fill("concise") == Prompts.load().fill("concise")


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("contextual_retrieval", "only {{document}}", "{{chunk}}"),
        ("contextual_retrieval", "<!-- {{document}} {{chunk}} -->\n \n", "blank"),
        ("query_entity_extraction", "nothing", "{{query}}"),
    ],
)
def test_a_file_that_cannot_work_refuses_the_start(
    tmp_path: Path, name: str, text: str, why: str
) -> None:
    (tmp_path / f"{name}.md").write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        Prompts.load(tmp_path)
    assert why in refused.value.message
    assert f"{name}.md" in refused.value.message


def test_a_file_that_cannot_be_read_refuses_the_start(tmp_path: Path) -> None:
    (tmp_path / "concise.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match=r"concise\.md.*UTF-8"):
        Prompts.load(tmp_path)
    with pytest.raises(ConfigurationError, match="RAGBASE_PROMPTS_DIR"):
        Prompts.load(tmp_path / "absent")
