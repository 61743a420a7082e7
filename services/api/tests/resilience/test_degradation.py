"""What callers see while a dependency is down, slow or wrong, and that it heals by itself.

The table is the one of docs/operations/failure-modes.md.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import asyncpg
import pytest

from .conftest import DOCUMENT, World

Outcome = tuple[int, str]
Fault = Callable[[World], AbstractAsyncContextManager[None]]

QUERY = {"query": "ships at the quay"}
CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "hybrid": ("POST", "/v1/search", QUERY),
    "semantic": ("POST", "/v1/search/semantic", QUERY),
    "keyword": ("POST", "/v1/search/keyword", QUERY),
    "ingest": ("POST", "/v1/documents", {"title": "New", "content": "A lighthouse."}),
    "list": ("GET", "/v1/documents", {}),
    "ready": ("GET", "/health/ready", {}),
    "live": ("GET", "/health/live", {}),
}
WELL: dict[str, Outcome] = dict.fromkeys(CALLS, (200, "")) | {"ingest": (201, "")}


@asynccontextmanager
async def embedder_down(world: World) -> AsyncIterator[None]:
    await asyncio.to_thread(world.stop_model)
    yield
    await asyncio.to_thread(world.start_model)


@asynccontextmanager
async def embedder_slow(world: World) -> AsyncIterator[None]:
    world.model.delay_s = 5.0
    yield
    world.model.delay_s = 0.0


@asynccontextmanager
async def embedder_wrong(world: World) -> AsyncIterator[None]:
    world.model.mangle = lambda vectors: [[math.nan] * len(vector) for vector in vectors]
    yield
    world.model.mangle = None


@asynccontextmanager
async def postgres_down(world: World) -> AsyncIterator[None]:
    await asyncio.to_thread(world.postgres.stop)
    yield
    await asyncio.to_thread(world.postgres.start)


@asynccontextmanager
async def postgres_slow(world: World) -> AsyncIterator[None]:
    async with connected(world) as blocker, blocker.transaction():
        await blocker.execute("LOCK TABLE chunks IN ACCESS EXCLUSIVE MODE")
        yield


@asynccontextmanager
async def postgres_read_only(world: World) -> AsyncIterator[None]:
    async with connected(world) as owner:
        await set_read_only(owner, "on")
        # The calls that lost their connection to this are not what is looked at.
        await eventually((200, ""), lambda: world.outcome(*CALLS["hybrid"][:2], **QUERY))
        yield
        await owner.execute("SET default_transaction_read_only = off")
        await set_read_only(owner, "off")


async def set_read_only(owner: asyncpg.Connection[asyncpg.Record], value: str) -> None:
    """For every connection made from now on; the others are ended."""
    name = await owner.fetchval("SELECT current_database()")
    await owner.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {value}')
    await owner.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = $1 AND pid <> pg_backend_pid()",
        name,
    )


@asynccontextmanager
async def connected(world: World) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(world.postgres.dsn)
    try:
        yield connection
    finally:
        await connection.close()


TABLE: dict[Fault, dict[str, Outcome]] = {
    embedder_down: {
        "hybrid": (200, "semantic_unavailable"),
        "semantic": (503, "embedder_unavailable"),
        "ingest": (503, "embedder_unavailable"),
    },
    embedder_slow: {
        "hybrid": (200, "semantic_timeout"),
        "semantic": (503, "search_timeout"),
        "ingest": (503, "embedder_unavailable"),
    },
    embedder_wrong: {
        "hybrid": (200, "semantic_unavailable"),
        "semantic": (503, "search_unavailable"),
        "ingest": (502, "upstream_error"),
    },
    postgres_down: {
        **dict.fromkeys(
            ("hybrid", "semantic", "keyword", "ingest", "list"), (503, "database_unavailable")
        ),
        "ready": (503, ""),
    },
    postgres_slow: {
        "hybrid": (503, "timeout"),
        "semantic": (503, "timeout"),
        "keyword": (503, "timeout"),
        "list": (503, "timeout"),
    },
    postgres_read_only: {"ingest": (503, "database_unavailable")},
}
"""Only what differs from `WELL`."""


async def outcomes(world: World, skip: frozenset[str] = frozenset()) -> dict[str, Outcome]:
    return {
        name: await world.outcome(method, path, **body)
        for name, (method, path, body) in CALLS.items()
        if name not in skip
    }


@pytest.mark.parametrize("fault", TABLE, ids=lambda fault: fault.__name__)
async def test_a_fault_costs_what_depends_on_it_and_heals(world: World, fault: Fault) -> None:
    # A writer may wait for a lock longer than a test does.
    skip = frozenset({"ingest"} if fault is postgres_slow else ())
    expected = {name: found for name, found in WELL.items() if name not in skip}
    assert await outcomes(world, skip) == expected
    before = await documents(world)
    async with fault(world):
        assert await outcomes(world, skip) == expected | TABLE[fault]
    await eventually((200, ""), lambda: world.outcome(*CALLS["hybrid"][:2], **QUERY))
    # What was refused left nothing behind.
    assert await documents(world) == before
    assert await outcomes(world, skip) == expected


async def documents(world: World) -> int:
    answer = await world.client.get("/v1/documents?limit=1&include_content=false")
    return int(answer.headers["x-total-count"])


async def eventually(wanted: object, look: Callable[[], Awaitable[object]]) -> None:
    """Nothing is restarted and nobody calls by hand; it comes by itself within 20 s."""
    found = None
    for _ in range(100):
        found = await look()
        if found == wanted:
            return
        await asyncio.sleep(0.2)
    assert found == wanted


async def test_health_names_what_is_down_and_when_it_is_back(world: World) -> None:
    async def status() -> tuple[str, bool]:
        found = (await world.client.get("/health")).json()
        return found["status"], found["embedding"] == "healthy"

    assert await status() == ("ok", True)
    async with embedder_down(world):
        await eventually(("degraded", False), status)
    await eventually(("ok", True), status)


async def test_a_replacement_that_breaks_keeps_the_old_version(world: World) -> None:
    """B057: the embedder dies in the middle of an update."""
    changed = {**DOCUMENT, "content": "Nothing moors here any more."}
    async with embedder_down(world):
        assert await world.outcome("POST", "/v1/documents", **changed) == (
            503,
            "embedder_unavailable",
        )
    found = (await world.client.get("/v1/documents")).json()
    kept = [each for each in found if each["external_id"] == DOCUMENT["external_id"]]
    assert [each["content"] for each in kept] == [DOCUMENT["content"]]
    assert (await world.outcome("POST", "/v1/documents", **changed))[0] == 200
