"""From a document to chunks: what is indexed, and that none passes the embedder's limit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import regex
from numpy.typing import NDArray

from ragbase.ingest.chunks import make_chunks
from ragbase.ingest.split import SplitRules
from ragbase.models.domain import ChunkDraft
from ragbase.text.analyse import analyser


class WordTokens:
    """One token a word or mark."""

    def spans(self, text: str) -> NDArray[np.int64]:
        found = [match.span() for match in regex.finditer(r"\w+|[^\w\s]", text)]
        return np.array(found, np.int64).reshape(-1, 2)

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(self.spans(text)) for text in texts]


def chunks_of(content: str, *, size: int = 60, max_tokens: int = 80) -> list[ChunkDraft]:
    return make_chunks(
        "Ports",
        content,
        {"year": 2024},
        rules=SplitRules(size=size, overlap=5, max_tokens=max_tokens),
        analyser=analyser("english"),
        tokenizer=WordTokens(),
    )


def test_the_header_comes_first_and_the_chunk_last() -> None:
    (chunk,) = chunks_of("# Quays\n\nShips moor here.")
    assert chunk.indexed_content.startswith("[Ports | year: 2024] [Quays] ")
    assert chunk.indexed_content.endswith(chunk.content)
    assert "moor" in chunk.terms
    assert "quay" in chunk.terms


def test_rows_of_a_long_table_are_indexed_under_its_header() -> None:
    rows = "\n".join(f"| harbour {n} | {n} metres |" for n in range(40))
    chunks = chunks_of(f"| name | depth |\n|---|---|\n{rows}")
    assert len(chunks) > 2
    for chunk in chunks[1:]:
        assert "| name | depth |" in chunk.indexed_content
        assert "| name | depth |" not in chunk.content


@pytest.mark.parametrize("max_tokens", [40, 80, 200])
def test_no_chunk_passes_the_limit_with_its_header(max_tokens: int) -> None:
    text = "\n\n".join(f"## Part {n}\n\n" + "Ships moor at the quay. " * n for n in range(1, 30))
    for chunk in chunks_of(text, size=500, max_tokens=max_tokens):
        assert WordTokens().count([chunk.indexed_content])[0] <= max_tokens


def test_positions_are_those_of_the_text() -> None:
    text = "Ships moor. " * 200
    for chunk in chunks_of(text):
        assert text[chunk.start : chunk.end] == chunk.content
