"""Figures of what is stored, and of what is under way."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from ragbase.models.access import Access
from ragbase.services.stats import StatsService
from ragbase.storage import stats as store
from ragbase.storage.pool import Connection, Database

from .conftest import Create

NO_JOBS = {"queued": 0, "running": 0, "succeeded": 0, "failed": 0, "cancelled": 0}


async def test_totals_and_each_collection(
    api: httpx.AsyncClient, create: Create, connection: Connection
) -> None:
    await api.put("/v1/collections/empty", json={})
    await api.put("/v1/collections/other", json={})
    await create("T", "one")
    await create("T", "\n\n".join("the quick brown fox " * 40 for _ in range(20)))
    await create("T", "three", collection="other")
    await create("T", "<!-- no chunk -->", collection="other")
    chunks = await connection.fetchval("SELECT count(*) FROM chunks")
    answer = await api.get("/v1/stats")
    assert answer.status_code == 200
    stats = answer.json()
    assert (stats["documents"], stats["chunks"]) == (4, chunks)
    assert (stats["entities"], stats["relations"]) == (0, 0)
    assert stats["storage_bytes"] > 8192
    assert stats["jobs"] == NO_JOBS
    rows = {row["name"]: (row["documents"], row["chunks"]) for row in stats["collections"]}
    assert rows == {"default": (2, chunks - 1), "empty": (0, 0), "other": (2, 1)}
    assert [row["name"] for row in stats["collections"]] == sorted(rows)


async def test_jobs_are_counted_by_state(api: httpx.AsyncClient) -> None:
    await api.put("/v1/collections/other", json={})
    for name in ("default", "other", "other"):
        body = {"title": "T", "content": "c", "collection": name}
        headers = {"prefer": "respond-async, wait=30"}
        assert (await api.post("/v1/documents", json=body, headers=headers)).status_code == 201
    stats = (await api.get("/v1/stats")).json()
    assert stats["jobs"] == {**NO_JOBS, "succeeded": 3}
    rows = {row["name"]: row["jobs"]["succeeded"] for row in stats["collections"]}
    assert rows == {"default": 1, "other": 2}


async def test_a_bound_key_learns_of_its_collections_only(db: Database) -> None:
    async with db.transaction() as connection:
        await connection.execute(
            "INSERT INTO collections (name) VALUES ('mine'), ('theirs');"
            "INSERT INTO documents (collection_id, title, content)"
            " SELECT k.id, 't', 'c' FROM collections k, generate_series(1, 3);"
            "INSERT INTO jobs (kind, task, collection_id, max_attempts, tag)"
            " SELECT 'ingest', 'ingest', id, 1, 1 FROM collections;"
            "INSERT INTO jobs (kind, task, max_attempts, tag) VALUES ('backup', 'backup', 1, 1)"
        )
    service = StatsService(db)
    every = await service.read()
    assert (every.documents, every.jobs["queued"], len(every.collections)) == (9, 4, 3)
    assert every.storage_bytes
    bound = service.seen_by(Access(frozenset({"read"}), frozenset({"mine", "absent"})))
    mine = await bound.read()
    assert (mine.documents, mine.jobs["queued"], mine.storage_bytes) == (3, 1, None)
    assert [row.name for row in mine.collections] == ["mine"]
    nothing = await service.seen_by(Access(frozenset({"read"}), frozenset())).read()
    assert (nothing.documents, nothing.jobs["queued"], nothing.collections) == (0, 0, [])


async def test_many_callers_at_once_cost_one_count(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = 0
    count_everything = store.count_everything

    async def counting(connection: Connection) -> dict[str | None, store.StoredCounts]:
        nonlocal counts
        counts += 1
        return await count_everything(connection)

    monkeypatch.setattr("ragbase.services.stats.count_everything", counting)
    kept = StatsService(db, kept_s=3600)
    await asyncio.gather(*(kept.read() for _ in range(20)))
    assert counts == 1
    bound = kept.seen_by(Access(frozenset({"read"}), frozenset({"default"})))
    await bound.read()
    assert counts == 1
    async with db.transaction() as connection:
        await connection.execute("INSERT INTO documents (title, content) VALUES ('t', 'c')")
    assert (await kept.read()).documents == 0
    fresh = StatsService(db, kept_s=0)
    assert (await fresh.read()).documents == 1
