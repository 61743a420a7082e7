"""Batches: many documents in, one result an item in order, one bad item harms no other."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Set
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

from pydantic import ValidationError

from ragbase.clients.permits import Permits
from ragbase.errors import InvalidInputError, RagBaseError
from ragbase.models.access import Access
from ragbase.models.batch import BatchError, BatchResult
from ragbase.models.documents import DocumentIn
from ragbase.services.batch_order import BatchOrder
from ragbase.services.documents import to_out
from ragbase.services.ingest import IngestService
from ragbase.services.jobs import JobService
from ragbase.telemetry.logs import get_logger

__all__ = ["BatchItem", "BatchLimits", "BatchService", "Emit"]

_log = get_logger("ragbase.batch")

_RESULT_BYTES = 1024
"""What a result holds beside the texts of its item, about."""


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One item as it was sent: decoded JSON of any kind, or why it could not be read.

    ``size`` is what it took in the request, in bytes.
    """

    value: object | RagBaseError
    size: int = 0


Emit: TypeAlias = Callable[[BatchResult], Awaitable[None]]
"""Takes the results, one after the other; the batch waits for it."""
_Store: TypeAlias = Callable[[int, DocumentIn], Awaitable[BatchResult]]


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Bounds of one batch.

    A JSON body has at most ``items``; lines may be any number, each of ``line_bytes``, with pauses
    of ``pause_s`` between what arrives. ``parallel`` items are worked on at once. Items that are
    read and whose results are not taken yet hold ``held_bytes`` together: a caller who reads no
    result while it sends may send so much.
    """

    items: int
    line_bytes: int
    held_bytes: int
    pause_s: float
    parallel: int


class BatchService:
    """Stores documents side by side, so that the embedder always has something to do."""

    def __init__(self, ingest: IngestService, jobs: JobService, limits: BatchLimits) -> None:
        self._ingest = ingest
        self._jobs = jobs
        self.limits = limits

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._ingest = self._ingest.seen_by(access)
        bound._jobs = self._jobs.seen_by(access)
        return bound

    async def run(
        self,
        items: AsyncIterator[BatchItem],
        emit: Emit,
        *,
        include_content: bool = False,
        later: bool = False,
    ) -> None:
        """Give ``emit`` one result an item, in their order; ``later`` makes each item a job.

        Reads no further than the bounds allow. What ``items`` or ``emit`` raise ends the batch:
        items under way are cancelled, each either stored whole or not at all.
        """
        store = self._queue if later else self._storing(include_content=include_content)
        batch = _Batch(store, self.limits)
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(batch.read(items, group))
                await batch.give(emit)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    def _storing(self, *, include_content: bool) -> _Store:
        async def store(index: int, body: DocumentIn) -> BatchResult:
            result = await self._ingest.create(body)
            document = to_out(
                result.document,
                outcome=result.outcome,
                warnings=result.warnings,
                graph=result.graph,
                context=result.context,
            )
            if not include_content:
                document.content = ""
            status = 201 if result.outcome == "created" else 200
            return BatchResult(index=index, status=status, document=document)

        return store

    async def _queue(self, index: int, body: DocumentIn) -> BatchResult:
        collection = await self._ingest.check(body)
        job = await self._jobs.submit(
            "ingest", collection, body.model_dump(mode="json", exclude_unset=True)
        )
        return BatchResult(index=index, status=202, job=job)


class _Batch:
    """One batch under way."""

    def __init__(self, store: _Store, limits: BatchLimits) -> None:
        self._store = store
        self._turns = asyncio.Semaphore(limits.parallel)
        self._held = Permits(limits.held_bytes)
        self._order = BatchOrder()
        self._line: asyncio.Queue[_Held | None] = asyncio.Queue()

    async def read(self, items: AsyncIterator[BatchItem], group: asyncio.TaskGroup) -> None:
        """Start the work on each item as soon as there is room for it."""
        index = 0
        async for item in items:
            hold = AsyncExitStack()
            await hold.enter_async_context(self._held.take(item.size + _RESULT_BYTES))
            await self._turns.acquire()
            self._line.put_nowait(_Held(self._start(index, item, group), hold))
            index += 1
        self._line.put_nowait(None)

    async def give(self, emit: Emit) -> None:
        """Hand on each result when its turn has come."""
        while (held := await self._line.get()) is not None:
            await emit(await held.work)
            await held.hold.aclose()

    def _start(
        self, index: int, item: BatchItem, group: asyncio.TaskGroup
    ) -> asyncio.Task[BatchResult]:
        try:
            body = _read(item.value)
        except RagBaseError as error:
            self._turns.release()
            return group.create_task(_refused(index, error))
        task = group.create_task(self._work(index, body, self._order.before(body)))
        self._order.add(body, task)
        return task

    async def _work(
        self, index: int, body: DocumentIn, before: Set[asyncio.Task[Any]]
    ) -> BatchResult:
        try:
            if before:
                await asyncio.wait(before)
            return await self._store(index, body)
        except RagBaseError as error:
            return await _refused(index, error)
        except Exception as error:  # noqa: BLE001 - as a request of its own would be a 500
            _log.error("unexpected_error", exc_info=error)
            return await _refused(index, RagBaseError("Internal Server Error"))
        finally:
            self._turns.release()


@dataclass(frozen=True, slots=True)
class _Held:
    work: asyncio.Task[BatchResult]
    hold: AsyncExitStack


def _read(value: object | RagBaseError) -> DocumentIn:
    if isinstance(value, RagBaseError):
        raise value
    if not isinstance(value, dict):
        raise InvalidInputError(
            "An item is an object with title and content.", code="validation_error"
        )
    try:
        return DocumentIn.model_validate(value)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False, include_context=False)[0]
        field = ".".join(map(str, fault["loc"])) or None
        message = fault["msg"] if field is None else f"{field}: {fault['msg']}"
        raise InvalidInputError(message, code="validation_error", field=field) from None


async def _refused(index: int, error: RagBaseError) -> BatchResult:
    field = error.field if isinstance(error, InvalidInputError) else None
    told = BatchError(code=error.code, message=error.message, field=field)
    return BatchResult(index=index, status=error.status, error=told)
