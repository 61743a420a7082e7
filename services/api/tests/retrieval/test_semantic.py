"""The semantic index finds what an exact comparison finds, whatever is filtered or asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import pytest_asyncio
from numpy.typing import NDArray

from ragbase.models.domain import StoredChunk, Vector
from ragbase.models.filters import parse_filter
from ragbase.retrieval.filters import Condition, compile_filter
from ragbase.retrieval.semantic import SemanticIndex, exact_limit
from ragbase.retrieval.semantic_statements import VectorStatements
from ragbase.storage.chunks import load_chunks
from ragbase.storage.embedding_models import EmbeddingModel, ensure_index, ensure_row
from ragbase.storage.pool import Connection, Database

DIMENSION = 16
EF_SEARCH = 40


@dataclass
class Space:
    """Vectors in the tables and in memory, in the same order."""

    connection: Connection
    model: EmbeddingModel
    ids: list[int]
    vectors: NDArray[np.float32]

    async def add(
        self,
        vectors: NDArray[np.float32],
        collection: int = 1,
        metadata: Sequence[dict[str, object]] | None = None,
    ) -> list[int]:
        document = await self.connection.fetchval(
            "INSERT INTO documents (collection_id, title, content) VALUES ($1, 't', '') RETURNING id",
            collection,
        )
        rows = await self.connection.fetch(
            "INSERT INTO chunks (document_id, collection_id, chunk_index, content, indexed_content,"
            " metadata) SELECT $1, $2, n, '', '', coalesce(m.value, '{}') "
            "FROM generate_series(1, $3) n "
            "LEFT JOIN unnest($4::jsonb[]) WITH ORDINALITY AS m (value, n) USING (n) "
            "ORDER BY n RETURNING id",
            document,
            collection,
            len(vectors),
            list(metadata or ()),
        )
        ids = [row["id"] for row in rows]
        await self.connection.copy_records_to_table(
            "embeddings",
            records=[
                (chunk, document, collection, self.model.id, "content", vector)
                for chunk, vector in zip(ids, vectors, strict=True)
            ],
            columns=["chunk_id", "document_id", "collection_id", "model_id", "kind", "embedding"],
        )
        self.ids += ids
        self.vectors = np.concatenate([self.vectors, vectors])
        return ids

    def index(self) -> SemanticIndex:
        return SemanticIndex(self.model.id, self.model.dimension, EF_SEARCH)

    async def build(self) -> None:
        """Build the HNSW index: at once is much faster than row by row."""
        await ensure_index(self.connection, self.model, hnsw_m=16, hnsw_ef_construction=64)

    def nearest(self, vector: Vector, among: Sequence[int], depth: int) -> list[int]:
        """Ids of the nearest chunks of ``among``, compared in memory."""
        wanted = set(among)
        places = [place for place, chunk in enumerate(self.ids) if chunk in wanted]
        distance = 1 - self.vectors[places].astype(np.float64) @ vector.astype(np.float64)
        order = np.lexsort(([self.ids[place] for place in places], distance))
        return [self.ids[places[place]] for place in order[:depth]]


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)).astype("f4")
    return scaled


def scattered(count: int, seed: int = 1, dimension: int = DIMENSION) -> NDArray[np.float32]:
    return unit(np.random.default_rng(seed).standard_normal((count, dimension)))


async def make_space(connection: Connection, dimension: int = DIMENSION) -> Space:
    model = await ensure_row(connection, f"test-{dimension}", dimension)
    return Space(connection, model, [], np.empty((0, dimension), dtype=np.float32))


@pytest_asyncio.fixture
async def space(database_url: str) -> AsyncIterator[Space]:
    """An empty space of `DIMENSION` dimensions on a connection of width `EF_SEARCH`."""
    async with (
        await Database.open(database_url, min_size=0, ef_search=EF_SEARCH) as database,
        database.acquire() as connection,
    ):
        yield await make_space(connection)


def by_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the choice fall on HNSW, as it would in a table of millions."""
    monkeypatch.setattr("ragbase.retrieval.semantic.exact_limit", lambda *_: 0)


async def test_rows_are_nearest_first_with_their_cosine(space: Space) -> None:
    vectors = scattered(50)
    ids = await space.add(vectors)
    hits = await space.index().search(space.connection, vectors[7], [1], depth=10)
    assert [hit.chunk_id for hit in hits] == space.nearest(vectors[7], ids, 10)
    assert [hit.score for hit in hits] == pytest.approx(
        sorted((vectors @ vectors[7]).tolist(), reverse=True)[:10], abs=1e-6
    )


@pytest.mark.parametrize("indexed", [True, False])
async def test_equal_vectors_order_by_chunk_id(
    space: Space, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = scattered(1)[0]
    ids = await space.add(np.tile(one, (9, 1)))
    await space.build()
    if indexed:
        by_index(monkeypatch)
    hits = await space.index().search(space.connection, one, [1], depth=9)
    assert [hit.chunk_id for hit in hits] == sorted(ids)


async def test_min_score_cuts_cosines(space: Space) -> None:
    await space.add(
        unit(np.array([[1.0] + [0.0] * 15, [1.0, 1.0] + [0.0] * 14, [-1.0] + [0.0] * 15]))
    )
    query = unit(np.array([1.0] + [0.0] * 15))
    search = space.index().search
    scores = {
        cut: [
            round(hit.score, 3)
            for hit in await search(space.connection, query, [1], depth=5, min_score=cut)
        ]
        for cut in (None, 0.0, 0.7, 0.8)
    }
    assert scores == {None: [1.0, 0.707, -1.0], 0.0: [1.0, 0.707], 0.7: [1.0, 0.707], 0.8: [1.0]}


async def test_nothing_asked_nothing_found(space: Space) -> None:
    query = scattered(1)[0]
    assert await space.index().search(space.connection, query, [1], depth=5) == []
    await space.add(scattered(3))
    assert await space.index().search(space.connection, query, [], depth=5) == []
    assert await space.index().search(space.connection, query, [1], depth=0) == []
    assert await space.index().search(space.connection, query, [77], depth=5) == []


@pytest.mark.parametrize("indexed", [True, False])
async def test_as_many_rows_as_asked_for(
    space: Space, indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B039: a depth beyond the index's search width is not cut to it."""
    await space.add(scattered(5_000))
    await space.build()
    if indexed:
        by_index(monkeypatch)
    query = scattered(1, seed=5)[0]
    for depth in (100, 500, 1_000):
        hits = await space.index().search(space.connection, query, [1], depth=depth)
        found = {hit.chunk_id for hit in hits}
        assert len(hits) == len(found) == depth
        assert len(found & set(space.nearest(query, space.ids, depth))) >= 0.95 * depth
    assert await space.connection.fetchval("SHOW hnsw.ef_search") == str(EF_SEARCH)


async def test_index_recall_without_filter(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    await space.add(scattered(5_000))
    await space.build()
    by_index(monkeypatch)
    found, queries = 0, scattered(20, seed=9)
    for query in queries:
        hits = await space.index().search(space.connection, query, [1], depth=20)
        found += len({hit.chunk_id for hit in hits} & set(space.nearest(query, space.ids, 20)))
    assert found >= 0.95 * 20 * len(queries)


async def _filtered_recall(
    space: Space, query: Vector, among: list[int], condition: Condition
) -> float:
    hits = await space.index().search(
        space.connection, query, [1], filtered=condition, depth=20, min_score=None
    )
    best = set(space.nearest(query, among, 20))
    return len({hit.chunk_id for hit in hits} & best) / len(best)


async def test_recall_under_a_filter_of_one_percent(space: Space) -> None:
    ids = await space.add(scattered(5_000), metadata=[{"part": n % 100} for n in range(5_000)])
    await space.build()
    for query, part in zip(scattered(10, seed=3), range(10), strict=True):
        condition = compile_filter(parse_filter({"part": part}), first=3)
        assert await _filtered_recall(space, query, ids[part::100], condition) == 1.0


@pytest.mark.parametrize("share", [0.01, 0.2])
async def test_recall_where_matches_are_far_from_the_query(
    space: Space, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index search looks near the query first, where nothing matches."""
    vectors = scattered(5_000)
    query = scattered(1, seed=4)[0]
    far = set(np.argsort(vectors @ query)[: int(5_000 * share)].tolist())
    ids = await space.add(vectors, metadata=[{"far": n in far} for n in range(5_000)])
    condition = compile_filter(parse_filter({"far": True}), first=3)
    await space.build()
    among = [ids[place] for place in far]
    assert await _filtered_recall(space, query, among, condition) >= 0.99
    by_index(monkeypatch)
    await space.connection.execute("SET hnsw.max_scan_tuples = 500")
    assert await _filtered_recall(space, query, among, condition) >= 0.99


async def test_a_filter_that_matches_nothing(space: Space) -> None:
    await space.add(scattered(100))
    nothing = compile_filter(parse_filter({"k": {"in": []}}), first=3)
    query = scattered(1)[0]
    assert await space.index().search(space.connection, query, [1], filtered=nothing, depth=5) == []


async def test_in_list_over_single_values(space: Space) -> None:
    """B043: country is Chad or Japan, over chunks with one value each."""
    ids = await space.add(scattered(4), metadata=[{"c": "Chad"}, {"c": "Japan"}, {"c": "Peru"}, {}])
    both = compile_filter(parse_filter({"c": {"in": ["Chad", "Japan"]}}), first=3)
    query = scattered(1)[0]
    hits = await space.index().search(space.connection, query, [1], filtered=both, depth=5)
    assert sorted(hit.chunk_id for hit in hits) == ids[:2]


async def test_a_small_collection_beside_a_large_one_is_complete(space: Space) -> None:
    small = await space.connection.fetchval(
        "INSERT INTO collections (name) VALUES ('small') RETURNING id"
    )
    query = scattered(1, seed=6)[0]
    near = unit(query + 0.01 * np.random.default_rng(0).standard_normal((4_000, DIMENSION)))
    await space.add(near)
    ids = await space.add(scattered(30, seed=8), small)
    await space.build()
    hits = await space.index().search(space.connection, query, [small], depth=30, min_score=None)
    assert [hit.chunk_id for hit in hits] == space.nearest(query, ids, 30)


async def test_what_the_index_leaves_out_is_found_exactly(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = await space.connection.fetchval(
        "INSERT INTO collections (name) VALUES ('small') RETURNING id"
    )
    await space.add(scattered(3_000))
    ids = await space.add(scattered(400, seed=8), small)
    await space.build()
    by_index(monkeypatch)
    await space.connection.execute("SET hnsw.iterative_scan = off")
    query = scattered(1, seed=6)[0]
    hits = await space.index().search(space.connection, query, [small], depth=300, min_score=None)
    assert [hit.chunk_id for hit in hits] == space.nearest(query, ids, 300)


async def test_new_chunks_are_found_before_sizes_are_counted_again(space: Space) -> None:
    index, query = space.index(), scattered(1)[0]
    assert await index.search(space.connection, query, [1], depth=5) == []
    ids = await space.add(scattered(3, seed=2))
    hits = await index.search(space.connection, query, [1], depth=5, min_score=None)
    assert [hit.chunk_id for hit in hits] == space.nearest(query, ids, 5)


async def test_the_index_is_used_for_the_whole_of_a_large_table(space: Space) -> None:
    await space.add(scattered(5_000))
    await space.build()
    await space.connection.execute("ANALYZE embeddings")
    statement = VectorStatements(space.model.id, DIMENSION).nearest(20, None)
    plan = await space.connection.fetch(f"EXPLAIN {statement}", scattered(1)[0], [1])
    assert any("idx_embeddings_hnsw" in row[0] for row in plan)
    exact = VectorStatements(space.model.id, DIMENSION).exact(20)
    plan = await space.connection.fetch(f"EXPLAIN {exact}", scattered(1)[0], [1])
    assert not any("hnsw" in row[0] for row in plan)


@pytest.mark.parametrize("dimension", [2_001, 4_001])
async def test_wide_vectors_are_searched_too(
    space: Space, dimension: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half-precision index up to 4,000 dimensions, exact scan beyond; scores in full precision."""
    wide = await make_space(space.connection, dimension)
    vectors = scattered(40, dimension=dimension)
    ids = await wide.add(vectors)
    await wide.build()
    by_index(monkeypatch)
    hits = await wide.index().search(wide.connection, vectors[3], [1], depth=5, min_score=None)
    assert [hit.chunk_id for hit in hits] == wide.nearest(vectors[3], ids, 5)
    assert hits[0].score == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("part", [None, 3])
async def test_rows_read_along_are_those_of_the_hits(
    space: Space, indexed: bool, part: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    await space.add(scattered(300), metadata=[{"part": n % 10} for n in range(300)])
    await space.build()
    if indexed:
        by_index(monkeypatch)
    condition = compile_filter(parse_filter({"part": part}), first=3) if part else None
    search = space.index().search
    query = scattered(1, seed=5)[0]
    chunks: dict[int, StoredChunk] = {}
    hits = await search(
        space.connection, query, [1], filtered=condition, depth=10, min_score=None, chunks=chunks
    )
    assert hits == await search(
        space.connection, query, [1], filtered=condition, depth=10, min_score=None
    )
    assert len(hits) == 10
    ids = [hit.chunk_id for hit in hits]
    assert chunks == await load_chunks(space.connection, ids, indexed=False)


async def test_nothing_found_leaves_no_rows(space: Space) -> None:
    await space.add(scattered(20))
    nothing = compile_filter(parse_filter({"k": {"in": []}}), first=3)
    chunks: dict[int, StoredChunk] = {}
    query = scattered(1)[0]
    assert not await space.index().search(
        space.connection, query, [1], filtered=nothing, depth=5, chunks=chunks
    )
    assert not chunks


def test_the_cheaper_way_depends_on_share_and_depth() -> None:
    assert exact_limit(100_000, 200, 20) == 20_000
    assert exact_limit(100_000, 200, 5) == 10_000
    assert exact_limit(0, 200, 20) == 0
    assert exact_limit(4_000, 200, 20) == 4_000  # a table this small is never worth the index
    assert exact_limit(4_000, 20, 20, 200) == 4_000  # … nor for fewer rows: the width stays
