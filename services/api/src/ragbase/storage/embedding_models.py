"""Embedding models: one row and one HNSW index each, over the one embeddings table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import asyncpg

from ragbase.errors import ConfigurationError
from ragbase.limits import LOCALRAG

__all__ = [
    "EmbeddingModel",
    "VectorKind",
    "ensure_file_model",
    "ensure_index",
    "ensure_model",
    "ensure_row",
    "index_type",
]

VectorKind: TypeAlias = Literal["content", "context"]
"""Of what a vector is: a chunk as it is indexed, or its context alone."""
_KINDS: tuple[VectorKind, ...] = ("content", "context")

VECTOR_INDEX_MAX = 2000
HALFVEC_INDEX_MAX = 4000
DIMENSION_MAX = 16000
"""pgvector's limits: HNSW over vector, HNSW over halfvec, the type vector itself."""

_LOCK_SPACE = 0x7262_656D
"""First key of the advisory locks taken here: "rbem" in ASCII."""


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """A stored model; ``dimension`` is the length of its vectors."""

    id: int
    name: str
    dimension: int


def index_type(dimension: int) -> str | None:
    """SQL type whose HNSW index takes vectors of this dimension; None beyond (exact scan).

    Search must order by ``(embedding::<type>) <=> …`` for the index to be used.
    """
    if dimension <= VECTOR_INDEX_MAX:
        return f"vector({dimension})"
    if dimension <= HALFVEC_INDEX_MAX:
        return f"halfvec({dimension})"
    return None


async def ensure_model(
    connection: asyncpg.Connection,
    name: str,
    dimension: int,
    *,
    hnsw_m: int = 16,
    hnsw_ef_construction: int = 64,
) -> EmbeddingModel:
    """The row of this model, made with its index if new; safe under concurrent starts.

    Raises `ConfigurationError` when the stored vectors are of another model or dimension.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1, 0)", _LOCK_SPACE)
        model = await ensure_row(connection, name, dimension)
        await _refuse_other_vectors(connection, model)
        await ensure_index(
            connection, model, hnsw_m=hnsw_m, hnsw_ef_construction=hnsw_ef_construction
        )
    return model


async def ensure_file_model(
    connection: asyncpg.Connection,
    name: str,
    dimension: int,
    *,
    hnsw_m: int,
    hnsw_ef_construction: int,
) -> EmbeddingModel:
    """The same for the files of the second API, which may have a model of their own.

    Raises `ConfigurationError` when the stored files' vectors are of another model or dimension.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1, 0)", _LOCK_SPACE)
        await _give_up_dimension(connection, name, dimension)
        model = await ensure_row(connection, name, dimension)
        other = await connection.fetchval(
            "SELECT m.name FROM embedding_models m JOIN collections k ON k.name = $2 "
            "WHERE m.id <> $1 AND EXISTS (SELECT FROM embeddings e "
            "WHERE e.model_id = m.id AND e.collection_id = k.id) LIMIT 1",
            model.id,
            LOCALRAG,
        )
        if other is not None:
            raise ConfigurationError(
                f"The stored files' vectors were made by {other}, not by {name}. Set "
                f"LOCALRAG_EMBEDDING_MODEL to the former, or delete the collection {LOCALRAG} and "
                "store the files again."
            )
        for vectors in _KINDS:
            await ensure_index(
                connection,
                model,
                hnsw_m=hnsw_m,
                hnsw_ef_construction=hnsw_ef_construction,
                vectors=vectors,
            )
    return model


async def _give_up_dimension(connection: asyncpg.Connection, name: str, dimension: int) -> None:
    """Let a file's name pass to a model of another dimension, where no vector of the former is left.

    Raises `ConfigurationError` where there are such.
    """
    old = await connection.fetchrow(
        "SELECT id, name, dimension FROM embedding_models WHERE name = $1 AND dimension <> $2",
        name,
        dimension,
    )
    if old is None:
        return
    if await connection.fetchval(
        "SELECT EXISTS (SELECT FROM embeddings WHERE model_id = $1)", old["id"]
    ):
        raise ConfigurationError(
            f"{name} gives {dimension} dimensions, but the vectors stored under its name have "
            f"{old['dimension']}: its file holds another model now. Put the former file back; or, "
            f"to change the model, delete the collection {LOCALRAG} and store the files again."
        )
    for vectors in _KINDS:
        index = _index_name(EmbeddingModel(**old), vectors)
        await connection.execute(f"DROP INDEX IF EXISTS {index}")
    await connection.execute(
        "UPDATE embedding_models SET dimension = $2 WHERE id = $1", old["id"], dimension
    )


async def ensure_row(connection: asyncpg.Connection, name: str, dimension: int) -> EmbeddingModel:
    """The model's row alone. Raises `ConfigurationError` on another stored dimension."""
    if not 1 <= dimension <= DIMENSION_MAX:
        raise ConfigurationError(
            f"Embedding model {name} has {dimension} dimensions; 1 to {DIMENSION_MAX} can be stored."
        )
    await connection.execute(
        "INSERT INTO embedding_models (name, dimension) VALUES ($1, $2) ON CONFLICT DO NOTHING",
        name,
        dimension,
    )
    row = await connection.fetchrow(
        "SELECT id, name, dimension FROM embedding_models WHERE name = $1", name
    )
    assert row is not None
    if row["dimension"] != dimension:
        raise ConfigurationError(
            f"Embedding model {name} gives {dimension} dimensions, but the vectors stored under "
            f"that name have {row['dimension']}. Serve the model that made them, or start with an "
            "empty database and ingest again."
        )
    return EmbeddingModel(row["id"], row["name"], row["dimension"])


async def ensure_index(
    connection: asyncpg.Connection,
    model: EmbeddingModel,
    *,
    hnsw_m: int,
    hnsw_ef_construction: int,
    vectors: VectorKind = "content",
) -> None:
    """Build the model's partial HNSW index over its vectors of one kind, if there can be one."""
    kind = index_type(model.dimension)
    if kind is None:
        return
    operators = "vector_cosine_ops" if kind.startswith("vector") else "halfvec_cosine_ops"
    async with connection.transaction():
        if (
            await connection.fetchval("SELECT to_regclass($1)", _index_name(model, vectors))
            is not None
        ):
            return
        await connection.execute("SET LOCAL statement_timeout = 0")
        await connection.execute(
            f"CREATE INDEX {_index_name(model, vectors)} ON embeddings "
            f"USING hnsw ((embedding::{kind}) {operators}) "
            f"WITH (m = {hnsw_m:d}, ef_construction = {hnsw_ef_construction:d}) "
            f"WHERE model_id = {model.id:d} AND kind = '{vectors}'"
        )


def _index_name(model: EmbeddingModel, vectors: VectorKind) -> str:
    name = f"idx_embeddings_hnsw_{model.id:d}"
    return name if vectors == "content" else f"{name}_{vectors}"


async def _refuse_other_vectors(connection: asyncpg.Connection, model: EmbeddingModel) -> None:
    """Vectors of two models cannot be compared: a change of model needs a new index.

    Files of the second API are not concerned, see `ensure_file_model`.
    """
    other = await connection.fetchrow(
        "SELECT m.name, m.dimension FROM embedding_models m WHERE m.id <> $1 "
        "AND EXISTS (SELECT FROM embeddings e WHERE e.model_id = m.id AND e.collection_id <> "
        "coalesce((SELECT id FROM collections WHERE name = $2), 0)) LIMIT 1",
        model.id,
        LOCALRAG,
    )
    if other is not None:
        raise ConfigurationError(
            f"The stored vectors were made by {other['name']} ({other['dimension']} dimensions), "
            f"the embedder now serves {model.name} ({model.dimension}). Serve the former, or start "
            "with an empty database and ingest again."
        )
    await connection.execute(
        "UPDATE collections SET embedding_model_id = NULL "
        "WHERE embedding_model_id <> $1 AND name <> $2",
        model.id,
        LOCALRAG,
    )
