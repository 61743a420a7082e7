"""How an answer looks."""

from __future__ import annotations

import io
from dataclasses import asdict, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from ragbase.cli.console import printable
from ragbase.cli.render import EXCERPT_CHARS, excerpt, render_answer
from ragbase.models.search import Highlight, SearchResponse

MATCH = "bold yellow"


def answer(**changes: Any) -> SearchResponse:
    row = {
        "chunk_id": 9,
        "document_id": 4,
        "document_title": "Harbour [rules]",
        "content": "Ships moor at the north quay.",
        "score": 0.0325,
        "sources": ["semantic", "keyword"],
        "collection": "default",
        "external_id": "rules/harbour.md",
        "metadata": {},
        "chunk_index": 2,
        "start": 0,
        "end": 29,
        "highlights": [{"start": 0, "end": 5}],
        "explain": {"keyword": {"rank": 1, "score": 3.21}, "fused": {"rank": 2, "score": 0.0325}},
    }
    body = {
        "query": "ships",
        "results": [row],
        "total": 1,
        "retrievers_used": ["semantic", "keyword"],
        "score_kind": "rrf",
        "reranker_used": None,
        "warnings": [],
        "degraded": False,
        "timings_ms": {"embed": 2.5, "lexical": 1.0, "total": 6.0},
    }
    return SearchResponse.model_validate({**body, **changes})


def shown(response: SearchResponse) -> str:
    output = io.StringIO()
    render_answer(Console(file=output, width=100, highlight=False), response, "hybrid")
    return output.getvalue()


def test_a_row_has_title_score_arms_place_and_text() -> None:
    text = shown(answer())
    for part in (
        " 1  Harbour [rules]  0.0325 rrf  semantic  keyword",
        "rules/harbour.md · chunk 2",
        "Ships moor at the north quay.",
        "keyword #1 (3.21)   fused #2 (0.0325)",
        "1 row · hybrid (semantic, keyword) · 6.0 ms (embed 2.5, lexical 1.0)",
    ):
        assert part in text


def test_nothing_found_is_said() -> None:
    text = shown(answer(results=[], total=0, retrievers_used=[]))
    assert "No rows · hybrid (nothing found)" in text


def test_warnings_come_first() -> None:
    warning = {"code": "semantic_timeout", "message": "too slow", "stage": "semantic"}
    assert shown(answer(warnings=[warning])).startswith("! too slow (semantic_timeout)")


def test_short_texts_are_shown_whole_and_matches_marked() -> None:
    text = excerpt("Ships moor\nat the quay", [Highlight(start=0, end=5)])
    assert text.plain == "Ships moor at the quay"
    assert [(span.start, span.end, span.style) for span in text.spans] == [(0, 5, MATCH)]


def test_long_texts_are_shown_around_the_first_match() -> None:
    content = "filler " * 200 + "needle " + "tail " * 200
    place = content.index("needle")
    text = excerpt(content, [Highlight(start=place, end=place + 6)])
    assert text.plain.startswith("… ")
    assert text.plain.endswith(" …")
    assert len(text.plain) <= EXCERPT_CHARS + 4
    (span,) = text.spans
    assert text.plain[span.start : span.end] == "needle"


@given(st.text(min_size=1, max_size=1500), st.data())
def test_marks_always_stand_on_the_match(content: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(content) - 1))
    end = data.draw(st.integers(start + 1, min(len(content), start + 20)))
    text = excerpt(content, [Highlight(start=start, end=end)])
    wanted = printable(content[start:end])
    marked = [text.plain[span.start : span.end] for span in text.spans if span.style == MATCH]
    assert "".join(marked).rstrip() == wanted[: len("".join(marked))].rstrip()


def test_documents_cannot_send_escape_sequences() -> None:
    row = replace(
        answer().results[0], content="a\x1b[2Jb", document_title="\x1b]0;t\x07", highlights=[]
    )
    text = shown(answer(results=[asdict(row)]))
    assert "\x1b" not in text
    assert "a [2Jb" in text
