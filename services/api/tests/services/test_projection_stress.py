"""Writers of every kind at once while their changes are noted and followed."""

from __future__ import annotations

import asyncio
import os
import random
import time
from typing import Final

import pytest

from ragbase.errors import ConflictError, RagBaseError
from ragbase.models.domain import Collection
from ragbase.storage import graph_entities as entities
from ragbase.storage.collections import delete_collection
from ragbase.storage.concept_relations import put_relation
from ragbase.storage.concepts import delete_concept, put_concept
from ragbase.storage.documents import delete_documents
from ragbase.storage.pool import Connection, Database

from ..graph_rows import add_document, collection
from ..memory_projection import MemoryWriter, mended, projecting

SECONDS: Final = float(os.environ.get("RAGBASE_STRESS_S", "4"))
WRITERS: Final = 8
THINGS: Final = [f"Thing {number}" for number in range(20)]


@pytest.mark.slow
async def test_no_note_is_lost_whatever_is_written_at_once(db: Database, database_url: str) -> None:
    """Afterwards the projection is equal, row by row. Merging or deleting entities may, seldom, wait
    in a circle with writers of documents: one is rolled back then (services make it again)."""
    writer = MemoryWriter()
    until = time.monotonic() + SECONDS
    met: list[str] = []
    done = 0

    async def live(seed: int) -> None:
        nonlocal done
        draw = random.Random(seed)
        documents: list[int] = []
        while time.monotonic() < until:
            try:
                await _one_change(db, draw, documents)
                done += 1
            except ConflictError:
                continue  # an entity that went meanwhile
            except RagBaseError as error:
                if error.code != "database_deadlock":
                    met.append(f"{error.code}: {error.__cause__!r}")

    async with projecting(database_url, writer, batch=50):
        await asyncio.gather(*(live(seed) for seed in range(WRITERS)))
        drift = await mended(db, writer, within_s=60)
    assert met == []
    assert done > WRITERS
    assert drift.compared > 0


async def _one_change(db: Database, draw: random.Random, documents: list[int]) -> None:
    act = draw.random()
    if act < 0.4:
        some = draw.sample(THINGS, 5)
        pairs = [(some[0], some[1]), (some[2], some[1]), (some[3], some[4])]
        async with db.acquire() as connection:
            documents.append(await add_document(connection, ("Text.", some, pairs)))
    elif act < 0.65 and documents:
        async with db.transaction() as connection:
            await delete_documents(connection, [documents.pop(draw.randrange(len(documents)))])
    elif act < 0.75:
        async with db.transaction() as connection:
            await _change_entities(connection, draw)
    elif act < 0.97:
        async with db.transaction() as connection:
            await _change_concepts(connection, draw)
    else:
        await _with_collection(db, draw)


async def _change_entities(connection: Connection, draw: random.Random) -> None:
    rows = await connection.fetch("SELECT id FROM entities WHERE collection_id = 1")
    ids = [row[0] for row in rows]
    if len(ids) < 3:
        return
    target, *sources = draw.sample(ids, 3)
    locked = await entities.lock_entities(connection, [target, *sources])
    if len(locked) < 3:
        return
    if draw.random() < 0.5:
        await entities.merge_entities(connection, target, sources)
    else:
        await entities.delete_entity(connection, target)


async def _change_concepts(connection: Connection, draw: random.Random, key: int = 1) -> None:
    source, target = draw.sample(THINGS, 2)
    act = draw.random()
    if act < 0.4:
        await put_concept(
            connection, key, source, type="t", description=str(draw.random()), metadata={}
        )
    elif act < 0.8:
        await put_relation(connection, key, source, target, type="T", metadata={"at": act})
    else:
        row = await connection.fetchval(
            "SELECT id FROM concepts WHERE name = $1 AND collection_id = $2", source, key
        )
        if row is not None:
            await delete_concept(connection, row)


async def _with_collection(db: Database, draw: random.Random) -> None:
    """A collection that others write to, too, and that goes."""
    async with db.acquire() as connection:
        made: Collection = await collection(connection, f"c{draw.randrange(1_000_000)}")

    async def fill(seed: int) -> None:
        own = random.Random(seed)
        for _ in range(10):
            try:
                async with db.transaction() as connection:
                    await _change_concepts(connection, own, made.id)
            except RagBaseError as error:
                if error.code != "collection_not_found":
                    raise

    async def remove() -> None:
        await asyncio.sleep(draw.random() / 10)
        async with db.transaction() as connection:
            await delete_collection(connection, made.name)

    await asyncio.gather(fill(1), fill(2), remove())
