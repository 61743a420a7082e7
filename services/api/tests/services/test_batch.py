"""How a batch works on its items: side by side, within bounds, in order where it matters."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from ragbase.errors import NotFoundError
from ragbase.models.batch import BatchResult
from ragbase.models.documents import DocumentIn
from ragbase.models.domain import Document
from ragbase.services.batch import BatchItem, BatchLimits, BatchService
from ragbase.services.ingest import IngestOutcome, IngestService
from ragbase.services.jobs import JobService

LIMITS = BatchLimits(items=10, line_bytes=100, held_bytes=100_000, pause_s=1, parallel=4)


class Ingest:
    """Holds each document until it is let through; ``reasons`` are raised instead, by title."""

    def __init__(self, reasons: dict[str, Exception] | None = None) -> None:
        self.reasons = reasons or {}
        self.under_way: list[str] = []
        self.begun: Counter[str] = Counter()
        self.most = 0
        self.gates: dict[str, asyncio.Event] = {}
        self.open = True

    async def create(self, body: DocumentIn) -> IngestOutcome:
        self.begun[body.title] += 1
        self.under_way.append(body.title)
        self.most = max(self.most, len(self.under_way))
        try:
            if not self.open:
                await self.gates.setdefault(body.title, asyncio.Event()).wait()
            await asyncio.sleep(0)
            if body.title in self.reasons:
                raise self.reasons[body.title]
        finally:
            self.under_way.remove(body.title)
        now = datetime.now(UTC)
        document = Document(1, body.title, body.content, {}, now, now, 1, body.collection)
        return IngestOutcome(document, "created")

    def let_through(self, title: str) -> None:
        self.gates[title].set()


Make = Callable[..., BatchService]


def service(ingest: Ingest, **limits: Any) -> BatchService:
    bounds = BatchLimits(**{**{f: getattr(LIMITS, f) for f in LIMITS.__slots__}, **limits})
    return BatchService(cast(IngestService, ingest), cast(JobService, None), bounds)


def item(title: str, size: int = 0, **fields: Any) -> BatchItem:
    return BatchItem({"title": title, "content": "c", **fields}, size)


class Source:
    """Items, and how many of them were taken."""

    def __init__(self, *items: BatchItem) -> None:
        self.items = items
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[BatchItem]:
        for one in self.items:
            self.taken += 1
            yield one


async def settle() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def run(batch: BatchService, source: Source) -> list[BatchResult]:
    found: list[BatchResult] = []

    async def take(result: BatchResult) -> None:
        found.append(result)

    await batch.run(aiter(source), take)
    return found


def titles(found: list[BatchResult]) -> list[str | None]:
    return [row.document.title if row.document else None for row in found]


async def test_no_more_than_so_many_are_worked_on_and_the_rest_is_not_read() -> None:
    ingest = Ingest()
    ingest.open = False
    source = Source(*(item(str(n), content=f"c{n}") for n in range(20)))
    task = asyncio.create_task(run(service(ingest), source))
    await settle()
    assert sorted(ingest.under_way) == ["0", "1", "2", "3"]
    assert source.taken == 5
    ingest.let_through("2")
    await settle()
    assert sorted(ingest.under_way) == ["0", "1", "3", "4"]
    ingest.open = True
    for gate in ingest.gates.values():
        gate.set()
    assert titles(await task) == [str(n) for n in range(20)]
    assert ingest.most == 4


async def test_results_that_nobody_takes_stop_the_reading() -> None:
    ingest = Ingest()
    source = Source(*(item(str(n), size=24_000, content=f"c{n}") for n in range(20)))
    takes = asyncio.Event()

    async def take(_: BatchResult) -> None:
        await takes.wait()

    batch = service(ingest, held_bytes=100_000)
    task = asyncio.create_task(batch.run(aiter(source), take))
    await settle()
    assert source.taken == 4  # the fourth waits for room
    assert ingest.begun.total() == 3
    takes.set()
    await task
    assert ingest.begun.total() == 20


async def test_an_item_larger_than_what_may_be_held_is_taken_alone() -> None:
    source = Source(item("big", size=10**9), item("small"))
    assert titles(await run(service(Ingest()), source)) == ["big", "small"]


async def test_an_unexpected_error_is_of_its_item_alone_and_shows_nothing() -> None:
    ingest = Ingest({"b": ZeroDivisionError("secret"), "c": NotFoundError("gone", code="gone")})
    first, broken, absent, last = await run(
        service(ingest), Source(item("a"), item("b"), item("c"), item("d"))
    )
    assert (first.status, last.status) == (201, 201)
    assert broken.error is not None
    assert (broken.status, broken.error.code) == (500, "internal_error")
    assert "secret" not in broken.error.message
    assert absent.error is not None
    assert (absent.status, absent.error.code) == (404, "gone")


async def test_when_results_cannot_be_given_the_work_is_cancelled() -> None:
    ingest = Ingest()
    ingest.open = False

    async def take(_: BatchResult) -> None:
        raise ConnectionError("gone")

    items = (item(str(n), content=f"c{n}") for n in range(20))
    task = asyncio.create_task(service(ingest).run(aiter(Source(*items)), take))
    await settle()
    ingest.let_through("0")
    with pytest.raises(ConnectionError):
        await task
    assert ingest.under_way == []


async def test_an_error_of_the_source_ends_the_batch() -> None:
    async def source() -> AsyncIterator[BatchItem]:
        yield item("a")
        raise ConnectionError("gone")

    async def take(_: BatchResult) -> None:
        return

    with pytest.raises(ConnectionError):
        await service(Ingest()).run(source(), take)


async def test_cancelling_the_batch_cancels_its_items() -> None:
    ingest = Ingest()
    ingest.open = False
    task = asyncio.create_task(run(service(ingest), Source(item("a"), item("b", content="x"))))
    await settle()
    assert len(ingest.under_way) == 2
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ingest.under_way == []


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ({"external_id": "e"}, {"external_id": "e"}, True),
        ({"external_id": "e"}, {"external_id": "f"}, False),
        ({"external_id": "e"}, {"external_id": "e", "collection": "other"}, False),
        ({}, {"dedupe": True}, True),
        ({"dedupe": True}, {}, True),
        ({"dedupe": True}, {"dedupe": True}, True),
        ({"dedupe": True}, {"dedupe": True, "content": "else"}, False),
        ({"dedupe": True}, {"dedupe": True, "collection": "other"}, False),
        ({}, {}, False),
    ],
)
async def test_items_wait_only_where_the_order_decides(
    first: dict[str, Any], second: dict[str, Any], waits: bool
) -> None:
    ingest = Ingest()
    ingest.open = False
    source = Source(item("t", **first), item("t", **second))
    task = asyncio.create_task(run(service(ingest), source))
    await settle()
    assert ingest.begun["t"] == (1 if waits else 2)
    ingest.let_through("t")
    assert len(await task) == 2


async def test_a_failed_item_does_not_hold_up_those_after_it() -> None:
    ingest = Ingest({"bad": ZeroDivisionError()})
    source = Source(item("bad", external_id="e"), item("good", external_id="e"))
    bad, good = await run(service(ingest), source)
    assert (bad.status, good.status) == (500, 201)
