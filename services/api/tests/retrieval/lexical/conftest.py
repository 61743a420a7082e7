"""A small corpus in the real tables, and BM25 by the book to compare with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from ragbase.storage.pool import Connection

K1 = 1.2
B = 0.75


@dataclass(frozen=True)
class Shelf:
    """Writes chunks of ready-made terms, one document each unless told otherwise."""

    connection: Connection

    async def collection(self, name: str) -> int:
        found: int = await self.connection.fetchval(
            "INSERT INTO collections (name) VALUES ($1) RETURNING id", name
        )
        return found

    async def add(
        self,
        texts: Sequence[str],
        collection: int = 1,
        metadata: Sequence[dict[str, object]] | None = None,
    ) -> list[int]:
        """Ids of new chunks, one a text, all of one new document."""
        document = await self.connection.fetchval(
            "INSERT INTO documents (collection_id, title, content) VALUES ($1, 't', '') RETURNING id",
            collection,
        )
        rows = await self.connection.fetch(
            """
            INSERT INTO chunks
                (document_id, collection_id, chunk_index, content, indexed_content, lexical_text,
                 metadata)
            SELECT $1, $2, n, terms, terms, terms, coalesce(m.value, '{}')
            FROM unnest($3::text[]) WITH ORDINALITY AS t (terms, n)
            LEFT JOIN unnest($4::jsonb[]) WITH ORDINALITY AS m (value, n) USING (n)
            ORDER BY n RETURNING id
            """,
            document,
            collection,
            list(texts),
            list(metadata or ()),
        )
        return [row["id"] for row in rows]


@pytest.fixture
def shelf(connection: Connection) -> Shelf:
    return Shelf(connection)


def bm25(chunks: Mapping[int, str], terms: Sequence[str]) -> dict[int, float]:
    """Score of every chunk that has a query term, in plain Python."""
    counts = {chunk: Counter(text.split()) for chunk, text in chunks.items()}
    lengths = {chunk: count.total() for chunk, count in counts.items()}
    mean = sum(lengths.values()) / len(lengths) if lengths else 0.0
    scores: dict[int, float] = {}
    for term, weight in Counter(terms).items():
        df = sum(term in count for count in counts.values())
        idf = math.log(1 + (len(counts) - df + 0.5) / (df + 0.5))
        for chunk, count in counts.items():
            if tf := count[term]:
                norm = K1 * (1 - B + B * lengths[chunk] / mean)
                scores[chunk] = scores.get(chunk, 0.0) + weight * (K1 + 1) * idf * tf / (tf + norm)
    return scores


def assert_ranking(
    hits: Sequence[tuple[int, float]], expected: Mapping[int, float], depth: int
) -> None:
    """``hits`` are the best ``depth`` of ``expected``, up to ties at the edge."""
    assert len(hits) == min(depth, len(expected))
    for chunk, score in hits:
        assert score == pytest.approx(expected[chunk], rel=1e-9)
    assert [(-score, chunk) for chunk, score in hits] == sorted(
        (-score, chunk) for chunk, score in hits
    )
    left = set(expected) - {chunk for chunk, _ in hits}
    if left:
        assert max(expected[chunk] for chunk in left) <= hits[-1][1] * (1 + 1e-9)


@pytest.fixture
def reference():  # type: ignore[no-untyped-def]
    """`bm25` and `assert_ranking`, for test modules, which cannot import this file."""
    return bm25, assert_ranking
