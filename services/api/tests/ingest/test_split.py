"""The splitter: what pieces hold, where they start, and that nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from time import process_time

import numpy as np
import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ragbase.errors import InvalidInputError
from ragbase.ingest.split import Piece, SplitRules, split


class SyllableTokenizer:
    """Four letters a token, any other character one; a string over 100 characters is unknown: one.

    So, as with WordPiece, a slice may have more tokens than the text it was cut from.
    """

    def spans(self, text: str) -> NDArray[np.int64]:
        found: list[tuple[int, int]] = []
        for word in re.finditer(r"\S+", text):
            start, end = word.span()
            if end - start > 100:
                found.append((start, end))
                continue
            pattern = re.compile(r"[a-z]{1,4}|.", re.IGNORECASE | re.DOTALL)
            found += [m.span() for m in pattern.finditer(text, start, end)]
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(self.spans(text)) for text in texts]


TOKENIZER = SyllableTokenizer()


def check(text: str, pieces: Sequence[Piece], rules: SplitRules) -> None:
    """What holds for any text and any rules."""
    for piece in pieces:
        assert piece.content == text[piece.start : piece.end]
        assert piece.content.strip()
        assert 1 <= piece.words <= rules.size
    for before, after in pairwise(pieces):
        assert before.start < after.start
        assert before.end < after.end
    if rules.max_tokens is not None:
        header = rules.header_tokens or (lambda _: 0)
        for piece, tokens in zip(pieces, TOKENIZER.count([p.content for p in pieces]), strict=True):
            room = rules.max_tokens - header(piece.breadcrumb) - len(TOKENIZER.spans(piece.prefix))
            assert tokens <= max(room, 1) or len(piece.content) == 1


def uncovered(text: str, pieces: Sequence[Piece]) -> str:
    """The characters outside all pieces, without white space."""
    covered = bytearray(len(text))
    for piece in pieces:
        covered[piece.start : piece.end] = b"\x01" * (piece.end - piece.start)
    left = "".join(c for c, inside in zip(text, covered, strict=True) if not inside)
    return "".join(left.split())


def numbered(count: int) -> str:
    return " ".join(f"w{i}" for i in range(count))


# Rules


@pytest.mark.parametrize("syntax", ["markdown", "plain", "words"])
@pytest.mark.parametrize(
    ("size", "overlap", "field"),
    [
        (0, 0, "size"),
        (-1, 0, "size"),
        (10, 10, "overlap"),
        (10, 11, "overlap"),
        (10, -1, "overlap"),
    ],
)
def test_impossible_rules_are_refused(syntax: str, size: int, overlap: int, field: str) -> None:
    """B023, R1."""
    with pytest.raises(InvalidInputError) as caught:
        SplitRules(size=size, overlap=overlap, syntax=syntax)  # type: ignore[arg-type]
    assert caught.value.field == field


# Short texts, empty texts


@pytest.mark.parametrize(
    "text", ["One.", "# H\n\ntext\n\n- a\n- b", "a\r\n\r\nb", "中文。", "👨‍👩‍👧"]
)
@pytest.mark.parametrize("syntax", ["markdown", "plain", "words"])
def test_a_short_text_is_one_piece(text: str, syntax: str) -> None:
    (piece,) = split(text, SplitRules(syntax=syntax))  # type: ignore[arg-type]
    assert (piece.content, piece.start, piece.end) == (text, 0, len(text))


@pytest.mark.parametrize("text", ["", " ", "\n\n\t\n", "\u3000\u2003\r\n"])
@pytest.mark.parametrize("syntax", ["markdown", "plain", "words"])
def test_a_blank_text_has_no_piece(text: str, syntax: str) -> None:
    assert split(text, SplitRules(syntax=syntax)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- only -->",
        "<!-- a\n# b\n-->\n\n<!-- c --> <!-- d -->\n",
        "<!-- never closed\n\ntext?",
        "---\ntitle: x\ntags: [a, b]\n---\n",
        "---\ntitle: x\n---\n\n<!-- c -->\n\n***\n",
        "---\n\n***\n",
    ],
)
def test_a_document_with_nothing_to_find_has_no_piece(text: str) -> None:
    """B015."""
    assert split(text, SplitRules()) == []


def test_front_matter_beside_text_is_kept_and_has_no_breadcrumb() -> None:
    text = "---\ntitle: x\n---\n# Head\n\ntext words here"
    pieces = split(text, SplitRules(size=6, overlap=0))
    assert [(p.content, p.breadcrumb) for p in pieces] == [
        ("---\ntitle: x\n---", ()),
        ("# Head\n\ntext words here", ("Head",)),
    ]


# Headings


def test_breadcrumb_is_that_of_the_first_paragraph() -> None:
    """R5: section by section, a skipped level left out, deeper levels cleared."""
    words = " ".join(["word"] * 9)
    text = (
        f"intro {words}\n\n# A\n\n{words}\n\n### C\n\n{words}\n\n## B\n\n{words}\n\n# D\n\n{words}"
    )
    pieces = split(text, SplitRules(size=12, overlap=9))
    assert [piece.breadcrumb for piece in pieces] == [(), ("A",), ("A", "C"), ("A", "B"), ("D",)]


@pytest.mark.parametrize("size", [20, 30, 64])
def test_a_heading_stays_with_the_text_under_it(size: int) -> None:
    """R6, B021: before long paragraphs, tables, lists, code and deeper headings."""
    rows = "\n".join(f"| {i} | a b |" for i in range(30))
    blocks = [
        numbered(200),
        "Sentence one is here. " * 30,
        f"| x | y |\n|---|---|\n{rows}",
        "\n".join(f"- item number {i}" for i in range(30)),
        "```\n" + "\n".join(f"code {i}" for i in range(60)) + "\n```",
    ]
    text = "\n\n".join(f"# Part {i}\n\n## Sub {i}\n\n{block}" for i, block in enumerate(blocks))
    pieces = split(text, SplitRules(size=size, overlap=5))
    for piece in pieces:
        assert not regex.search(r"(?:^|\n)#[^\n]*$", piece.content), piece.content
    check(text, pieces, SplitRules(size=size, overlap=5))
    assert uncovered(text, pieces) == ""


def test_a_long_paragraph_under_a_heading_fills_its_pieces() -> None:
    pieces = split("# Head\n\n" + "Some words in a sentence. " * 200, SplitRules(100, 0))
    assert [piece.breadcrumb for piece in pieces] == [("Head",)] * 11
    assert min(piece.words for piece in pieces) >= 80


def test_a_short_section_keeps_its_table() -> None:
    """B021."""
    text = "\n\n".join(
        f"## Table {i}\n\n| key | value |\n|-----|-------|\n| k{i} | v{i} |" for i in range(40)
    )
    for piece in split(text, SplitRules(size=30, overlap=5)):
        for i in re.findall(r"## Table (\d+)", piece.content):
            assert f"| k{i} | v{i} |" in piece.content


def test_headings_in_code_are_no_breadcrumb() -> None:
    """R3, B019."""
    words = " ".join(["word"] * 9)
    text = f"# True\n\n~~~~\n# false\n~~~\n# false\n~~~~\n\n{words}\n\n{words}\n\n```\n\n# false\n\n{words}"
    pieces = split(text, SplitRules(size=12, overlap=0))
    assert {piece.breadcrumb for piece in pieces} == {("True",)}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_are_kept_and_offsets_refer_to_the_text_as_given(end: str) -> None:
    """R4, R7."""
    text = "# A\ntext one\n \n# B\ntwo\nthree\n".replace("\n", end)
    pieces = split(text, SplitRules(size=5, overlap=0))
    assert [p.content for p in pieces] == [f"# A{end}text one", f"# B{end}two{end}three"]
    check(text, pieces, SplitRules(size=5, overlap=0))


# Size, overlap


def test_pieces_of_many_short_paragraphs() -> None:
    """Contract A: 60 short paragraphs over the size split, in order, without gaps."""
    text = "\n\n".join(f"Paragraph {i} says something short about topic {i}." for i in range(120))
    rules = SplitRules(size=100, overlap=10)
    pieces = split(text, rules)
    check(text, pieces, rules)
    assert uncovered(text, pieces) == ""
    assert [p.words for p in pieces] == [len(p.content.split()) for p in pieces]
    assert min(p.words for p in pieces) >= 60
    assert all(p.content.startswith("Paragraph") for p in pieces)


@pytest.mark.parametrize("syntax", ["markdown", "plain", "words"])
@pytest.mark.parametrize("count", [k * 100 + d for k in (1, 2, 5) for d in (-1, 0, 1)] + [190, 191])
def test_texts_about_a_multiple_of_the_size(syntax: str, count: int) -> None:
    """B025, R2, L10: finishes, and the tail appears in the last piece alone."""
    rules = SplitRules(size=100, overlap=10, syntax=syntax)  # type: ignore[arg-type]
    text = numbered(count)
    pieces = split(text, rules)
    check(text, pieces, rules)
    assert sum(f"w{count - 1}" in p.content.split() for p in pieces) == 1
    assert len(pieces) == max(1, -(-(count - 10) // 90))


@pytest.mark.parametrize("overlap", [0, 50])
@pytest.mark.parametrize("syntax", ["markdown", "plain", "words"])
def test_every_word_of_a_text_without_punctuation_is_kept(syntax: str, overlap: int) -> None:
    """B029: and with an overlap, neighbours share words."""
    rules = SplitRules(size=512, overlap=overlap, syntax=syntax)  # type: ignore[arg-type]
    pieces = split(numbered(10_000), rules)
    assert {word for p in pieces for word in p.content.split()} == {f"w{i}" for i in range(10_000)}
    for before, after in pairwise(pieces):
        shared = set(before.content.split()) & set(after.content.split())
        assert len(shared) == overlap


def test_sentences_are_not_cut_and_overlap_by_whole_ones() -> None:
    text = " ".join(f"This is sentence number {i}, as e.g. Dr. Who said." for i in range(200))
    rules = SplitRules(size=60, overlap=12)
    pieces = split(text, rules)
    check(text, pieces, rules)
    assert all(p.content.startswith("This is") and p.content.endswith("said.") for p in pieces)
    assert all(before.end > after.start for before, after in pairwise(pieces))


def test_a_short_paragraph_is_repeated_but_not_across_a_heading() -> None:
    words = " ".join(["word"] * 20)
    text = f"{words}\n\nshort one\n\n{words}\n\nshort two\n\n# Head\n\n{words}"
    pieces = split(text, SplitRules(size=25, overlap=5))
    assert [p.content.split("\n")[0] for p in pieces] == [words, "short one", "# Head"]
    assert pieces[0].content.endswith("short one")


def test_pieces_of_a_long_paragraph_are_even() -> None:
    pieces = split("Some words make a sentence here. " * 100, SplitRules(size=250, overlap=0))
    assert len(pieces) == 3
    assert max(p.words for p in pieces) - min(p.words for p in pieces) <= 24


def test_repeated_paragraphs_have_their_own_offsets() -> None:
    """B027: nothing is found by searching for its text."""
    paragraph = "The same words stand here again and again."
    text = "\n\n".join([paragraph] * 6 + [f"Before. {paragraph} After.", paragraph])
    rules = SplitRules(size=9, overlap=2)
    pieces = split(text, rules)
    check(text, pieces, rules)
    assert [p.start for p in pieces][:6] == [i * (len(paragraph) + 2) for i in range(6)]


def test_long_lines_are_paragraphs() -> None:
    lines = [f"Line {i}" + " with many words in it" * 8 for i in range(30)]
    pieces = split("\n".join(lines), SplitRules(size=100, overlap=0))
    assert {piece.content for piece in pieces} == {
        "\n".join(p) for p in zip(*[iter(lines)] * 2, strict=True)
    }


def test_wrapped_lines_are_not() -> None:
    text = "This sentence is written over several\nlines of a page. " * 60
    pieces = split(text, SplitRules(size=100, overlap=0))
    assert all(p.content.startswith("This sentence") for p in pieces)


# Code, tables


def test_code_keeps_its_lines_and_indentation() -> None:
    """R7."""
    code = "\n".join(f"    def f{i}():\n        return {i}\n" for i in range(50))
    text = f"```python\n{code}```"
    rules = SplitRules(size=30, overlap=0)
    pieces = split(text, rules)
    check(text, pieces, rules)
    assert all(p.content.startswith(("```python\n", "    def ")) for p in pieces)


def test_rows_of_a_long_table_carry_its_header() -> None:
    head = "| name | value |\n|------|-------|"
    text = (
        "Intro.\n\n" + head + "\n" + "\n".join(f"| n{i} | v{i} |" for i in range(100)) + "\n\nEnd."
    )
    rules = SplitRules(size=60, overlap=10, max_tokens=120)
    pieces = split(text, rules, TOKENIZER)
    check(text, pieces, rules)
    assert len(pieces) > 4
    for piece in pieces:
        assert (head in piece.content) != (piece.prefix == head)
        assert all(line.count("|") in (0, 3) for line in piece.content.splitlines())
    assert uncovered(text, pieces) == ""


# Scripts without spaces, long strings, clusters


@pytest.mark.parametrize("max_tokens", [None, 64])
def test_chinese_is_cut_at_sentence_ends(max_tokens: int | None) -> None:
    """R8."""
    text = "这是第一句话，讲的是某件事情。那么第二句话呢？" * 100
    rules = SplitRules(size=100, overlap=20, max_tokens=max_tokens)
    pieces = split(text, rules, TOKENIZER)
    check(text, pieces, rules)
    assert len(pieces) > 20
    assert all(p.content[-1] in "。？" for p in pieces)


@pytest.mark.parametrize("text", ["ภาษาไทยไม่มีช่องว่าง" * 200, "日本語" * 1000, "x" * 20_000])
def test_text_without_any_break_is_still_cut(text: str) -> None:
    """R8, B011."""
    rules = SplitRules(size=100, overlap=10)
    pieces = split(text, rules)
    check(text, pieces, rules)
    assert len(pieces) > 5
    assert uncovered(text, pieces) == ""


@pytest.mark.parametrize("syntax", ["markdown", "words"])
def test_a_hundred_kilobytes_without_a_blank(syntax: str) -> None:
    """B011: stored in bounded pieces, tokens counted slice by slice, the words around it intact."""
    text = "before " + "aGVsbG8" * 15_000 + " after"
    rules = SplitRules(max_tokens=128, syntax=syntax)  # type: ignore[arg-type]
    pieces = split(text, rules, TOKENIZER)
    check(text, pieces, rules)
    assert uncovered(text, pieces) == ""
    assert pieces[0].content.startswith("before ")
    assert pieces[-1].content.endswith(" after")
    assert max(len(p.content) for p in pieces) < 8_000


CLUSTERS = ["👨‍👩‍👧", "🇩🇪", "e\u0301", "न्दी", "👍🏽", "각", "🏴\U000e0067\U000e0062\U000e007f"]


@pytest.mark.parametrize("shift", range(9))
@pytest.mark.parametrize("syntax", ["markdown", "words"])
def test_clusters_stay_whole(shift: int, syntax: str) -> None:
    """B007: at every place around the limit."""
    text = "x" * shift + "".join(CLUSTERS) * 60
    rules = SplitRules(size=20, overlap=0, max_tokens=40, syntax=syntax)  # type: ignore[arg-type]
    pieces = split(text, rules, TOKENIZER)
    check(text, pieces, rules)
    assert "".join(p.content for p in pieces) == text
    whole = {m.start() for m in regex.finditer(r"\X", text)}
    assert {p.start for p in pieces} <= whole
    assert all(p.content.encode() for p in pieces)


# Tokens


def test_tokens_of_the_header_count() -> None:
    """Content and header together stay within the cap; outer headings go before the text does."""
    deep = "\n\n".join(f"{'#' * i} Heading of level {i}" for i in range(1, 7))
    text = f"{deep}\n\n" + "Some plain words follow in a sentence. " * 60

    def header_tokens(breadcrumb: tuple[str, ...]) -> int:
        return 5 + TOKENIZER.count([" > ".join(breadcrumb)])[0]

    rules = SplitRules(max_tokens=60, header_tokens=header_tokens)
    pieces = split(text, rules, TOKENIZER)
    check(text, pieces, rules)
    assert all(p.breadcrumb and p.breadcrumb[-1].startswith("Heading") for p in pieces)
    assert pieces[-1].breadcrumb[-1] == "Heading of level 6"
    assert len(pieces[-1].breadcrumb) < 6


# Properties

FRAGMENT = st.sampled_from(
    [
        "# Head\n",
        "## Sub ##\n",
        "Under\n---\n",
        "word ",
        "Sentence here. ",
        "\n",
        "\n\n",
        "\r\n",
        " ",
        "- item\n",
        "  - nested\n",
        "> quote\n",
        "1. one\n",
        "| a | b |\n|---|---|\n",
        "| 1 | 2 |\n",
        "```\n",
        "~~~~\n",
        "    code\n",
        "中文句子。",
        "ภาษาไทย",
        "👨‍👩‍👧",
        "e\u0301",
        "x" * 130,
        "a,b;c ",
        "<div>\n",
        "\t",
        "\u3000",
        "\x1c",
        "\u2028",
        "***bold***",
        "\\",
        "&amp;",
        "\u200b",
        "[x]: y\n",
    ]
)
TEXTS = st.lists(FRAGMENT | st.text(max_size=6), max_size=60).map("".join)
RULES = st.builds(
    lambda size, share, syntax, tokens: SplitRules(
        size=size, overlap=int(size * share), syntax=syntax, max_tokens=tokens
    ),
    st.integers(1, 40),
    st.floats(0, 0.99),
    st.sampled_from(["markdown", "plain", "words"]),
    st.none() | st.integers(1, 60),
)


@settings(max_examples=400, deadline=None)
@given(TEXTS, RULES)
@example("\x1c", SplitRules(size=1, overlap=0, syntax="words"))
@example("# Head xxxx xxxx", SplitRules(size=2, overlap=1, syntax="words", max_tokens=2))
@example("# a\n# b\n\n" + "x" * 130, SplitRules(size=3, overlap=2, max_tokens=3))
def test_any_text_under_any_rules(text: str, rules: SplitRules) -> None:
    """R2, R7, R9, B025, B027, B029: exact slices, growing, bounded; nothing but markup is lost."""
    pieces = split(text, rules, TOKENIZER)
    check(text, pieces, rules)
    if "<" not in text and (rules.syntax != "markdown" or "---" not in text):
        left = uncovered(text, pieces)
        assert not regex.search(r"[\p{L}\p{N}]", left), left


@settings(max_examples=50, deadline=None)
@given(TEXTS, RULES)
def test_splitting_is_deterministic(text: str, rules: SplitRules) -> None:
    assert split(text, rules, TOKENIZER) == split(text, rules, TOKENIZER)


HOSTILE = {
    "one line": "word " * 1_000_000,
    "no blank": "x" * 5_000_000,
    "newlines": "\n" * 1_000_000,
    "headings": "# a\n" * 50_000,
    "quotes": ">" * 100_000 + " a",
    "quoted lines": (">" * 50 + " a\n") * 5_000,
    "nested list": "".join("  " * i + "- a\n" for i in range(1_000)),
    "list": "- a\n" * 30_000,
    "table": "|a|b|\n|-|-|\n" + "|1|2|\n" * 30_000,
    "fences": "```\n" * 50_001,
    "comments": "<!--\n" * 50_000,
    "zalgo": "a" + "\u0301" * 500_000,
    "flags": "🇩🇪" * 200_000,
    "short paragraphs": "a\n\n" * 50_000,
    "short sentences": "A. " * 200_000,
    "han": "中" * 1_000_000,
    "references": "[a]: b\n" * 50_000,
    "pipes": "a|b\n" * 50_000,
    "dashes": "- " * 100_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_finish(name: str) -> None:
    text = HOSTILE[name]
    start = process_time()
    pieces = split(text, SplitRules())
    assert process_time() - start < 60
    check(text, pieces, SplitRules())
