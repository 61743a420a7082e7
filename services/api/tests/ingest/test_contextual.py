"""What is asked about a chunk, and how the answer joins it: windows, order, lengths."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbase.clients.estimated_tokens import EstimatedTokenizer
from ragbase.ingest.chunks import make_chunks
from ragbase.ingest.contextual import (
    GAP,
    Span,
    clean_line,
    fronts,
    in_context,
    line_room,
    placed,
)
from ragbase.ingest.split import SplitRules
from ragbase.text.analyse import analyser

TOKENIZER = EstimatedTokenizer()


def _spans(content: str, size: int) -> list[Span]:
    return [Span(at, min(at + size, len(content))) for at in range(0, len(content), size)]


def _text(words: int) -> str:
    return " ".join(f"word{number}" for number in range(words))


def test_a_document_that_fits_is_the_front_of_all_its_chunks() -> None:
    content = _text(100)
    [front] = fronts(content, _spans(content, 200), 5_000)
    assert front.text == content
    assert front.chunks == tuple(range(len(_spans(content, 200))))


def test_of_a_long_document_each_chunk_gets_the_beginning_and_a_window_around_it() -> None:
    """R45: the whole document was sent whatever its length."""
    content = _text(5_000)
    spans = _spans(content, 300)
    found = fronts(content, spans, 1_000)
    assert [place for front in found for place in front.chunks] == list(range(len(spans)))
    for front in found:
        assert TOKENIZER.count([front.text])[0] <= 1_000 * 1.1
        assert front.text.startswith("word0 word1 ")
        for place in front.chunks:
            middle = content[spans[place].start : spans[place].end].split()[5:-5]
            assert " ".join(middle) in front.text, "the window holds the chunk"
    assert found[0].text.count("[…]") == 1
    assert found[1].text.count(GAP) == 1
    assert found[1].text.endswith("[…]")
    assert not found[-1].text.endswith("[…]")


def test_neighbours_share_their_window_so_that_a_prefix_cache_holds() -> None:
    content = _text(20_000)
    spans = _spans(content, 300)
    found = fronts(content, spans, 3_000)
    assert len(found) < len(spans) / 4
    assert len({front.text for front in found}) == len(found)


def test_windows_cut_no_words() -> None:
    content = _text(5_000)
    words = set(content.split()) | {"[…]"}
    for front in fronts(content, _spans(content, 300), 1_000):
        assert set(front.text.split()) <= words


@given(
    st.text(alphabet="ab é漢\n", min_size=1, max_size=3_000),
    st.integers(1, 400),
    st.integers(10, 2_000),
)
def test_every_chunk_is_asked_about_once_whatever_the_text(
    content: str, size: int, tokens: int
) -> None:
    spans = _spans(content, size)
    found = fronts(content, spans, tokens)
    assert [place for front in found for place in front.chunks] == list(range(len(spans)))
    assert all(front.text or not content.strip() or tokens < 20 for front in found)


def test_no_chunks_no_questions() -> None:
    assert fronts("text", [], 100) == []


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("  One\n\n two\t", "One two"),
        ("a\x00b\u2028c\ud800d", "a b c d"),
        ("e\u0301", "é"),
        ("\x00\n", ""),
    ],
)
def test_a_line_is_one_line_that_can_be_stored(answer: str, line: str) -> None:
    """B003: a NUL in a text made later breaks the store hours into a run."""
    assert clean_line(answer) == line


def test_the_line_stands_before_the_chunk_and_after_its_header() -> None:
    """Contract §9: title and metadata, breadcrumb, context line, raw chunk."""
    assert placed("[T] [H] raw", "raw", "A line.") == "[T] [H] A line. raw"
    assert placed("[T] [H] raw", "raw", "") == "[T] [H] raw"


@settings(max_examples=40)
@given(
    st.text(alphabet="word. é漢!", max_size=3_000), st.integers(8, 120), st.sampled_from([64, 256])
)
def test_header_line_and_chunk_fit_the_embedder(line: str, line_tokens: int, limit: int) -> None:
    content = "# Head\n\n" + "plain words in a row " * 40
    rules = SplitRules(size=512, overlap=0, max_tokens=limit - line_room(line_tokens, limit))
    chunks = make_chunks(
        "Title", content, {}, rules=rules, analyser=analyser("english"), tokenizer=TOKENIZER
    )
    line = clean_line(line)
    done = in_context(
        chunks,
        [line] * len(chunks),
        line_tokens=line_tokens,
        passage_tokens=limit,
        tokenizer=TOKENIZER,
        analyser=analyser("english"),
    )
    for before, after in zip(chunks, done, strict=True):
        assert TOKENIZER.count([after.indexed_content])[0] <= limit
        assert after.context is not None
        assert line.startswith(after.context)
        assert TOKENIZER.count([after.context])[0] <= line_tokens
        assert after.content == before.content
        assert after.indexed_content.endswith(before.content)


def test_a_line_is_cut_at_a_sentence_where_one_ends_late_enough() -> None:
    content = "x" * 30
    [chunk] = make_chunks(
        "T",
        content,
        {},
        rules=SplitRules(size=100, overlap=0),
        analyser=analyser("english"),
        tokenizer=TOKENIZER,
    )
    [done] = in_context(
        [chunk],
        ["The first sentence is here. The second one is too long to fit into the room."],
        line_tokens=16,
        passage_tokens=500,
        tokenizer=TOKENIZER,
        analyser=analyser("english"),
    )
    assert done.context == "The first sentence is here."
    assert "sentenc" in " ".join(done.terms)


def test_chunks_without_a_line_stay_as_they_are() -> None:
    [chunk] = make_chunks(
        "T",
        "some text",
        {},
        rules=SplitRules(size=100, overlap=0),
        analyser=analyser("english"),
        tokenizer=TOKENIZER,
    )
    assert in_context(
        [chunk],
        [None],
        line_tokens=50,
        passage_tokens=500,
        tokenizer=TOKENIZER,
        analyser=analyser("english"),
    ) == [chunk]


def test_lines_take_at_most_a_quarter_of_what_the_embedder_takes() -> None:
    assert line_room(100, 254) == 63
    assert line_room(100, 8192) == 100
    assert line_room(0, 8192) == 0
