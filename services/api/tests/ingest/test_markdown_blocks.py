"""Block structure: what is a heading, and that every line belongs to a block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.ingest.markdown_blocks import Block, markdown_blocks, plain_blocks


def headings(text: str) -> list[tuple[int, str]]:
    return [(b.level, b.title) for b in markdown_blocks(text) if b.kind == "heading"]


@pytest.mark.parametrize(
    "fence",
    [
        "```\n# no\n\n# no\n```",
        "```python title=x\n# no\n```",
        "~~~\n# no\n~~~",
        "````\n```\n# no\n```\n````",
        "```\n# no\n`````",
        "   ```\n   # no\n   ```",
        "```\n~~~\n# no\n```",
        "    # no\n\n    # no",
        "- item\n\n  ```\n  # no\n  ```",
        "> ```\n> # no\n> ```",
        "<pre>\n# no\n</pre>",
        "<!--\n# no\n-->",
    ],
)
def test_only_true_headings_count(fence: str) -> None:
    """B019, R3: every kind of fence, followed by a heading."""
    assert headings(f"# First\n\n{fence}\n\n# Second\n") == [(1, "First"), (1, "Second")]


def test_an_unclosed_fence_runs_to_the_end() -> None:
    """B019."""
    assert headings("# First\n\n```\n# no\n\n# no\n") == [(1, "First")]


@pytest.mark.parametrize("end_of_line", ["\n", "\r\n", "\r"])
def test_headings_of_every_form(end_of_line: str) -> None:
    """R4: followed at once by text, setext, closing signs, CRLF, blank lines that hold spaces."""
    text = (
        "# One #\ntext\n  \nTwo\n===\ntext\n \t\n## Three ##  \nFour words in\nall\n---\n#hash\n#"
    )
    assert headings(text.replace("\n", end_of_line)) == [
        (1, "One"),
        (1, "Two"),
        (2, "Three"),
        (2, "Four words in all"),
        (1, ""),
    ]


def test_headings_inside_lists_and_quotes_open_no_section() -> None:
    assert headings("> # Quoted\n\n- # Listed\n\n# Real") == [(1, "Real")]


def test_front_matter_is_one_block_without_headings() -> None:
    blocks = markdown_blocks("---\ntitle: x\n# comment\n---\n# Real\n")
    assert [(b.kind, b.title) for b in blocks] == [("front_matter", ""), ("heading", "Real")]


def test_a_paragraph_over_dashes_is_no_heading() -> None:
    assert headings("word " * 100 + "\n---\n") == []


def test_a_comment_beside_text_is_text() -> None:
    kinds = [b.kind for b in markdown_blocks("<!-- a -->\n\n<!-- b --> text\n\n***\n")]
    assert kinds == ["silent", "code", "silent"]


def test_nested_lists_are_nested_blocks() -> None:
    text = "- a\n- b\n  - c\n  - d\n\n    more\n"
    (outer,) = markdown_blocks(text)
    first, second = outer.children
    assert text[first.start : first.end] == "- a\n"
    assert [child.kind for child in second.children] == ["prose", "group"]
    assert len(second.children[1].children) == 2


def test_plain_paragraphs_lie_between_blank_lines() -> None:
    text = "# a\nb\n \t\nc\r\n\r\n\r\nd\n"
    assert [text[b.start : b.end].strip() for b in plain_blocks(text)] == ["# a\nb", "c", "d"]


MARKDOWN = st.lists(
    st.sampled_from(
        [
            "# h",
            "text",
            "a|b",
            "-|-",
            "- x",
            "  - y",
            "1. z",
            "> q",
            ">> r",
            "```",
            "~~~",
            "    code",
            "---",
            "===",
            "<!--",
            "-->",
            "<div>",
            "",
            " ",
            "[a]: b",
            "***",
            "\t",
            "> - ```",
            "| 1 |",
        ]
    ),
    max_size=14,
).flatmap(lambda lines: st.sampled_from(["\n", "\r\n", "\r"]).map(lambda end: end.join(lines)))


@given(MARKDOWN)
def test_blocks_cover_every_line_once(text: str) -> None:
    def check(blocks: list[Block], start: int, end: int) -> None:
        position = start
        for block in blocks:
            assert position <= block.start < block.end <= end
            assert not text[position : block.start].strip()
            if block.children:
                check(list(block.children), block.start, block.end)
            position = block.end
        assert not text[position:end].strip()

    check(markdown_blocks(text), 0, len(text))
