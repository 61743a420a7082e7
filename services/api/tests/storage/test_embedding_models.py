"""One row and one index a model; what does not match is refused before anything changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from ragbase.errors import ConfigurationError
from ragbase.storage import documents
from ragbase.storage.embedding_models import ensure_model, index_type
from ragbase.storage.pool import Connection, Database


async def indexes(connection: Connection) -> list[str]:
    """Definitions of the HNSW indexes."""
    rows = await connection.fetch(
        "SELECT indexdef FROM pg_indexes WHERE tablename = 'embeddings' AND indexdef ~ 'hnsw'"
    )
    return [row[0] for row in rows]


@pytest.mark.parametrize(
    ("dimension", "kind"),
    [(8, "vector(8)"), (2000, "vector(2000)"), (2001, "halfvec(2001)"), (4000, "halfvec(4000)")],
)
async def test_the_index_takes_the_type_that_holds_the_dimension(
    connection: Connection, dimension: int, kind: str
) -> None:
    """B069: HNSW ends at 2,000 dimensions for vector and 4,000 for halfvec."""
    await ensure_model(connection, "m", dimension)
    (definition,) = await indexes(connection)
    assert f"embedding)::{kind}" in definition
    assert definition.endswith("WHERE ((model_id = 1) AND (kind = 'content'::text))")
    assert index_type(dimension) == kind


@pytest.mark.parametrize("dimension", [1024, 2001, 3072, 4096])
async def test_vectors_of_any_dimension_are_stored_and_found(
    connection: Connection, make_sample: Callable, dimension: int
) -> None:
    """B069: beyond 4,000 dimensions there is no index, but exact search works."""
    model = await ensure_model(connection, "m", dimension)
    sample = make_sample(["a", "b", "c"], dimension=dimension)
    await documents.insert_document(connection, *sample, model.id)
    assert len(await indexes(connection)) == (1 if dimension <= 4000 else 0)
    cast = index_type(dimension) or "vector"
    found = await connection.fetchval(
        f"SELECT c.content FROM embeddings e JOIN chunks c ON c.id = e.chunk_id "
        f"WHERE e.model_id = 1 AND e.kind = 'content' "
        f"ORDER BY e.embedding::{cast} <=> ($1::vector)::{cast} LIMIT 1",
        sample.vectors[1],
    )
    assert found == "b"


@pytest.mark.parametrize("dimension", [0, 16001])
async def test_an_impossible_dimension_is_refused_before_anything_changes(
    connection: Connection, dimension: int
) -> None:
    """B069."""
    with pytest.raises(ConfigurationError, match="1 to 16000"):
        await ensure_model(connection, "m", dimension)
    assert await connection.fetchval("SELECT count(*) FROM embedding_models") == 0


async def test_the_same_model_is_found_again(connection: Connection) -> None:
    first = await ensure_model(connection, "m", 8)
    assert await ensure_model(connection, "m", 8) == first
    assert len(await indexes(connection)) == 1


async def test_replicas_that_start_together_make_one_model(db: Database) -> None:
    async def start() -> int:
        async with db.transaction() as connection:
            return (await ensure_model(connection, "m", 8)).id

    assert len(set(await asyncio.gather(*(start() for _ in range(6))))) == 1


async def test_another_dimension_under_the_same_name_is_refused(connection: Connection) -> None:
    """R26: told at start, not at the first insert."""
    await ensure_model(connection, "m", 8)
    with pytest.raises(ConfigurationError, match=r"gives 9 dimensions.*have 8"):
        await ensure_model(connection, "m", 9)


async def test_another_model_is_refused_while_vectors_of_the_first_are_there(
    connection: Connection, make_sample: Callable
) -> None:
    """R26: vectors of two models cannot be compared."""
    first = await ensure_model(connection, "first", 8)
    document = await documents.insert_document(connection, *make_sample(), first.id)
    with pytest.raises(ConfigurationError, match=r"made by first.*now serves second"):
        await ensure_model(connection, "second", 16)
    assert len(await indexes(connection)) == 1
    await documents.delete_document(connection, document.id)
    second = await ensure_model(connection, "second", 16)
    await documents.insert_document(connection, *make_sample(dimension=16), second.id)
    name = "SELECT m.name FROM collections k JOIN embedding_models m ON m.id = k.embedding_model_id"
    assert await connection.fetchval(name) == "second"


async def test_the_index_answers_the_search(connection: Connection, make_sample: Callable) -> None:
    model = await ensure_model(connection, "m", 8, hnsw_m=4, hnsw_ef_construction=32)
    (definition,) = await indexes(connection)
    assert "m='4', ef_construction='32'" in definition
    sample = make_sample([f"text {n}" for n in range(50)])
    await documents.insert_document(connection, *sample, model.id)
    await connection.execute("SET enable_seqscan = off")
    plan = await connection.fetch(
        "EXPLAIN SELECT chunk_id FROM embeddings WHERE model_id = 1 AND kind = 'content' "
        "ORDER BY (embedding::vector(8)) <=> $1::vector(8) LIMIT 5",
        np.asarray(sample.vectors[0]),
    )
    assert any("idx_embeddings_hnsw_1" in row[0] for row in plan)
