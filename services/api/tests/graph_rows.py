"""Documents with what they contribute to the entity graph, written as jobs write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragbase.ingest.facts import clean_facts
from ragbase.models.domain import Collection
from ragbase.models.extraction import ChunkFacts, EntityFact, RelationFact
from ragbase.storage import documents as store
from ragbase.storage.collections import create_collection, list_collections
from ragbase.storage.graph_write import lock_chunks, write_facts
from ragbase.storage.pool import Connection

from .storage.conftest import sample_document

__all__ = ["add_document", "chunk_ids", "collection", "entity_ids"]


async def collection(connection: Connection, name: str = "default", **settings: Any) -> Collection:
    """The collection of this name, made if it is not there."""
    found = await list_collections(connection, [name])
    return found[0] if found else await create_collection(connection, name, **settings)


async def add_document(
    connection: Connection,
    *chunks: tuple[str, Sequence[str | EntityFact], Sequence[tuple[str, str]]],
    title: str = "Sample",
    collection_id: int = 1,
    metadata: Mapping[str, Any] | None = None,
) -> int:
    """Store a document of chunks, each with its text, the entities it names and the pairs of them
    that it relates; the document's id."""
    sample = sample_document(
        [text for text, _, _ in chunks],
        title=title,
        collection_id=collection_id,
        metadata=dict(metadata or {}),
    )
    document = await store.insert_document(connection, sample.draft, sample.chunks, None, None)
    async with connection.transaction():
        locked = await lock_chunks(connection, document.id)
        assert locked is not None
        facts = [
            clean_facts(ChunkFacts(chunk, _entities(named), _relations(pairs)))
            for chunk, (_, named, pairs) in zip(locked[1], chunks, strict=True)
        ]
        await write_facts(connection, document.id, collection_id, facts, "test")
    return document.id


def _entities(named: Sequence[str | EntityFact]) -> list[EntityFact]:
    return [EntityFact(one, "thing") if isinstance(one, str) else one for one in named]


def _relations(pairs: Sequence[tuple[str, str]]) -> list[RelationFact]:
    return [
        RelationFact(source, target, "knows", f"{source} knows {target}.")
        for source, target in pairs
    ]


async def chunk_ids(connection: Connection, document_id: int) -> list[int]:
    """In order."""
    rows = await connection.fetch(
        "SELECT id FROM chunks WHERE document_id = $1 ORDER BY chunk_index", document_id
    )
    return [row[0] for row in rows]


async def entity_ids(connection: Connection, collection_id: int = 1) -> dict[str, int]:
    """By normalised name."""
    rows = await connection.fetch(
        "SELECT normal_name, id FROM entities WHERE collection_id = $1", collection_id
    )
    return {row[0]: row[1] for row in rows}
