"""The neighbourhood that SQL gives: against dense matrices, its cuts, its filter."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.graph.neighbourhood import Cuts, load_neighbourhood
from ragbase.graph.pagerank import Floats, chunk_scores, specificity
from ragbase.models.filters import parse_filter
from ragbase.retrieval.filters import compile_filter
from ragbase.storage.chunks import document_ids
from ragbase.storage.pool import Connection

from ..graph_rows import add_document, chunk_ids, entity_ids
from .test_pagerank import dense

CHUNKS, ENTITIES = 10, 8

cells = st.lists(st.booleans(), min_size=CHUNKS * ENTITIES, max_size=CHUNKS * ENTITIES)
cuts = st.builds(
    Cuts, common=st.integers(1, 12), crossed=st.integers(1, 12), chunks=st.integers(1, 12)
)


def best(support: np.ndarray, limit: int) -> list[int]:
    """Chunks of most support, then lowest; none without any."""
    order = sorted(np.flatnonzero(support), key=lambda chunk: (-support[chunk], chunk))
    return [int(chunk) for chunk in order[:limit]]


def expected(matrix: np.ndarray, seeds: list[int], cut: Cuts) -> dict[int, float]:
    """Scores by chunk, out of dense matrices: the same cuts, then the exact solution."""
    degree = matrix.sum(axis=0)
    started = [seed for seed in seeds if degree[seed] <= cut.common]
    near = best(matrix[:, started].sum(axis=1), cut.chunks)
    crossed = [
        entity
        for entity in np.flatnonzero(matrix[near].sum(axis=0))
        if degree[entity] <= cut.crossed
    ]
    far = best(matrix[:, crossed].sum(axis=1), cut.chunks)
    kept = sorted({*near, *far})
    capped: Floats = np.minimum(degree, cut.common + 1.0)
    capped = np.maximum(capped, matrix[kept].sum(axis=0))
    telling = specificity(capped, cut.common)
    restart = np.zeros(ENTITIES)
    present = matrix[kept].sum(axis=0) > 0 if kept else np.zeros(ENTITIES, bool)
    for seed in started:
        restart[seed] = telling[seed] if present[seed] else 0.0
    if not restart.any():
        return {}
    scores = dense(matrix[kept], restart, capped, telling)
    return {chunk: score for chunk, score in zip(kept, scores, strict=True) if score > 1e-12}


@pytest.mark.parametrize("shape", ["random", "full", "one_hub"])
async def test_sql_and_dense_matrices_agree(connection: Connection, shape: str) -> None:
    """Random graphs, seeds and cuts; each example stands in the database alone."""
    document = await add_document(
        connection, *((f"chunk {number}", [], []) for number in range(CHUNKS))
    )
    chunks = await chunk_ids(connection, document)
    entities = [
        await connection.fetchval(
            "INSERT INTO entities (collection_id, normal_name, name) VALUES (1, $1, $1) RETURNING id",
            f"entity {number}",
        )
        for number in range(ENTITIES)
    ]

    async def check(flags: list[bool], seeds: list[int], cut: Cuts) -> None:
        matrix = np.array(flags, dtype=float).reshape(CHUNKS, ENTITIES)
        if shape == "full":
            matrix[:] = 1.0
        elif shape == "one_hub":
            matrix[:, 0] = 1.0
        await connection.execute("TRUNCATE mentions")
        await connection.executemany(
            "INSERT INTO mentions (chunk_id, entity_id, document_id, collection_id) "
            "VALUES ($1, $2, $3, 1)",
            [(chunks[c], entities[e], document) for c, e in zip(*np.nonzero(matrix), strict=True)],
        )
        around = await load_neighbourhood(connection, [entities[seed] for seed in seeds], None, cut)
        wanted = expected(matrix, seeds, cut)
        if around is None:
            assert wanted == {}
            return
        scores = chunk_scores(around.graph, around.restart({entities[seed]: 1.0 for seed in seeds}))
        found = {
            chunks.index(int(chunk)): score
            for chunk, score in zip(around.chunk_ids, scores, strict=True)
            if score > 1e-12
        }
        assert found == pytest.approx(wanted, abs=2**-14)

    examples: list[tuple[list[bool], list[int], Cuts]] = []

    @settings(max_examples=60, database=None, suppress_health_check=list(HealthCheck))
    @given(cells, st.lists(st.integers(0, ENTITIES - 1), min_size=1, max_size=4, unique=True), cuts)
    def collect(flags: list[bool], seeds: list[int], cut: Cuts) -> None:
        examples.append((flags, seeds, cut))

    collect()
    for flags, seeds, cut in examples:
        await check(flags, seeds, cut)


async def test_a_hub_is_neither_started_from_nor_crossed(connection: Connection) -> None:
    """Chunks of the hub are reached only where something else leads."""
    for number in range(6):
        await add_document(connection, (f"c{number}", ["Hub", f"Rare {number}"], []))
    ids = await entity_ids(connection)
    cut = Cuts(common=5, crossed=2)
    assert await load_neighbourhood(connection, [ids["hub"]], None, cut) is None
    around = await load_neighbourhood(connection, [ids["hub"], ids["rare 3"]], None, cut)
    assert around is not None
    assert around.chunk_ids.size == 1
    assert around.seeds == {ids["rare 3"]}
    hub = list(around.entity_ids).index(ids["hub"])
    assert around.graph.degree[hub] == 6


async def test_a_filter_holds_on_every_hop(connection: Connection) -> None:
    """The bridge between the two ends does not match, so the far end is not reached over it."""
    await add_document(connection, ("start", ["A", "B"], []), metadata={"open": True})
    bridge = await add_document(connection, ("bridge", ["B", "C"], []), metadata={"open": False})
    await add_document(connection, ("other", ["C"], []), metadata={"open": True})
    ids = await entity_ids(connection)
    condition = compile_filter(parse_filter({"open": True}), first=2)
    around = await load_neighbourhood(connection, [ids["a"]], condition)
    assert around is not None
    assert bridge not in (await document_ids(connection, list(around.chunk_ids))).values()
    assert around.chunk_ids.size == 1
    b = list(around.entity_ids).index(ids["b"])
    assert around.graph.degree[b] == 1, "chunks that do not match do not count"


async def test_the_order_of_seeds_does_not_matter(connection: Connection) -> None:
    for number in range(5):
        await add_document(connection, (f"c{number}", ["A", "B", f"N{number}"], []))
    ids = await entity_ids(connection)
    seen = set()
    for order in itertools.permutations([ids["a"], ids["b"], ids["n2"]]):
        around = await load_neighbourhood(connection, list(order))
        assert around is not None
        scores = chunk_scores(around.graph, around.restart(dict.fromkeys(order, 1.0)))
        seen.add((around.chunk_ids.tobytes(), scores.tobytes()))
    assert len(seen) == 1
