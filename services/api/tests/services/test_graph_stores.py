"""Which store answers, and what is said where it is not the one that should have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ragbase.errors import InvalidInputError, UnavailableError, UpstreamError
from ragbase.graph.bolt_write import Mark
from ragbase.graph.store import LacksReadingError
from ragbase.retrieval.trace import Trace
from ragbase.services import graph_stores
from ragbase.services.graph_stores import GraphStores, Projection
from ragbase.storage.graph_outbox import want_changes
from ragbase.storage.pool import Database


class Store:
    """Answers every reading with its name, or fails."""

    def __init__(self, name: str, error: Exception | None = None) -> None:
        self.name = name
        self.error = error

    def __getattr__(self, reading: str) -> Callable[..., Any]:
        async def answer(*_: object) -> str:
            if self.error is not None:
                raise self.error
            return self.name

        return answer


class Marked:
    def __init__(self) -> None:
        self.found: Mark | Exception = Mark(None, None)

    async def mark(self) -> Mark:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


async def complete(db: Database, store: Store) -> tuple[Projection, Marked]:
    async with db.transaction() as connection:
        epoch = await want_changes(connection)
    marked = Marked()
    marked.found = Mark(str(epoch), None)
    projection = Projection(db, store, marked)  # type: ignore[arg-type]  # methods made on demand
    await projection.probe()
    return projection, marked


POSTGRES: Any = Store("postgres")
AWAY = UnavailableError("away", code="graph_store_unavailable")


async def test_the_projection_is_read_where_it_is_chosen_and_whole(db: Database) -> None:
    projection, marked = await complete(db, Store("bolt"))
    assert await GraphStores(POSTGRES, projection, "bolt").begin().expand([1, 2], 1) == "bolt"
    assert (
        await GraphStores(POSTGRES, projection, "postgres").begin().expand([1, 2], 1) == "postgres"
    )
    assert await GraphStores(POSTGRES).begin().expand([1, 2], 1) == "postgres"

    marked.found = Mark("of another graph", None)
    await projection.probe()
    reading = GraphStores(POSTGRES, projection, "bolt").begin()
    assert await reading.expand([1, 2], 1) == "postgres"
    trace = Trace()
    reading.warn(trace)
    assert [warning.code for warning in trace.warnings] == ["graph_store_filling"]
    assert trace.failures == []


async def test_a_reading_under_a_filter_is_postgres_alone(db: Database) -> None:
    projection, _ = await complete(db, Store("bolt"))
    reading = GraphStores(POSTGRES, projection, "bolt").begin()
    condition: Any = lambda first: None  # noqa: E731 - never called
    assert await reading.expand([1], 1, condition) == "postgres"


@pytest.mark.parametrize("error", [AWAY, UpstreamError("refused")])
async def test_postgres_answers_for_a_store_that_fails_until_it_is_back(
    db: Database, error: Exception
) -> None:
    store = Store("bolt", error)
    projection, marked = await complete(db, store)
    looked: list[str] = []
    projection.failed = lambda: looked.append("soon")
    stores = GraphStores(POSTGRES, projection, "bolt")
    reading = stores.begin()
    assert await reading.path("concept", 1, 2, [1], 3) == "postgres"
    assert looked == ["soon"]
    trace = Trace()
    reading.warn(trace)
    assert trace.failures == ["graph_store_unavailable"]

    store.error = None  # not asked again before a probe has succeeded
    assert await stores.begin().path("concept", 1, 2, [1], 3) == "postgres"
    good, marked.found = marked.found, AWAY
    with pytest.raises(UnavailableError):
        await projection.probe()
    assert await stores.begin().path("concept", 1, 2, [1], 3) == "postgres"
    marked.found = good
    await projection.probe()
    assert await stores.begin().path("concept", 1, 2, [1], 3) == "bolt"


async def test_a_store_that_lacks_a_reading_is_read_for_the_others(db: Database) -> None:
    """Neo4j's Community edition finds no communities; it is not taken to be away for that."""
    store = Store("bolt", LacksReadingError("It finds no communities."))
    projection, _ = await complete(db, store)
    stores = GraphStores(POSTGRES, projection, "bolt")
    reading = stores.begin()
    assert await reading.communities("concept", [1]) == "postgres"
    trace = Trace()
    reading.warn(trace)
    assert trace.failures == ["graph_store_unavailable"]
    assert "finds no communities" in trace.warnings[0].message
    assert projection.problem is None
    store.error = None
    assert await stores.begin().path("concept", 1, 2, [1], 3) == "bolt"


async def test_what_the_caller_did_wrong_is_no_failure_of_the_store(db: Database) -> None:
    store = Store("bolt", InvalidInputError("too wide", code="path_too_wide"))
    projection, _ = await complete(db, store)
    with pytest.raises(InvalidInputError):
        await GraphStores(POSTGRES, projection, "bolt").begin().path("concept", 1, 2, [1], 3)
    assert projection.problem is None


async def test_auto_reads_what_was_measured_to_be_faster_there(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    projection, _ = await complete(db, Store("bolt"))
    monkeypatch.setattr(graph_stores, "AUTO", frozenset({"path"}))
    reading = GraphStores(POSTGRES, projection, "auto").begin()
    assert await reading.path("concept", 1, 2, [1], 3) == "bolt"
    assert await reading.expand([1, 2], 1) == "postgres"
