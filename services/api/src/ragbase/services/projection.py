"""Keeps the projection of the graph as the graph is: one process at a time, for as long as it runs.

Notes of what changed (`ragbase.storage.graph_outbox`) are taken away in the transaction that reads
how things stand, which ends only when the projection stands so too. Whatever dies in between, the
notes are there again, and doing it twice changes nothing.
"""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING, Final, TypeAlias
from uuid import UUID

from ragbase.errors import ConflictError, RagBaseError, UnavailableError, UpstreamError
from ragbase.graph.bolt_write import LABELS, Update
from ragbase.services.background import end
from ragbase.storage import graph_mirror as mirror
from ragbase.storage import graph_outbox as outbox
from ragbase.storage.graph_outbox import Changes, Key
from ragbase.storage.pool import Connection
from ragbase.telemetry.logs import get_logger

if TYPE_CHECKING:
    from ragbase.graph.bolt_write import BoltWriter

__all__ = ["Projector", "note_all", "note_gone"]

BATCH: Final = 1000
"""Notes taken at once."""
IDLE_S: Final = 0.5
"""Between looks when there is nothing to do."""
FOLLOW_S: Final = 5.0
"""Between tries to become the process that projects."""
LONGEST_PAUSE_S: Final = 30.0
RENEW_S: Final = 3600.0
CHECK_S: Final = 300.0
"""Between looks at whether the projection is still what was written, while all is quiet."""
REFUSED_MAX: Final = 10
"""Notes given up in a row, before the server rather than the notes is taken to be at fault."""
_PAGE: Final = 2000

Counted: TypeAlias = tuple[int, ...]

_log = get_logger("ragbase.projection")


class Projector:
    """Projects in the background: `start`, then `stop`. Any number may run; one of them works."""

    def __init__(
        self, dsn: str, writer: BoltWriter, *, batch: int = BATCH, idle_s: float = IDLE_S
    ) -> None:
        self._dsn = dsn
        self._writer = writer
        self._most = batch
        self._batch = batch
        self._idle_s = idle_s
        self._pause_s = idle_s
        self._refused = 0
        self._away = ""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.create_task(self._forever())

    async def stop(self) -> None:
        """End; a batch under way is undone, or done and looked at again by the next."""
        await end([self._task] if self._task else [])

    async def _forever(self) -> None:
        while True:
            try:
                async with outbox.leading(self._dsn) as connection:
                    if connection is not None:
                        await self._lead(connection)
                await asyncio.sleep(FOLLOW_S)
            except RagBaseError as error:
                await self._wait(error)
            except Exception as error:  # noqa: BLE001 - it outlives what one batch meets
                _log.error("projection_broke", exc_info=error)
                await asyncio.sleep(LONGEST_PAUSE_S)

    async def _wait(self, error: RagBaseError) -> None:
        """After a failure: twice as long each time, until something works again."""
        if self._away != error.code:
            _log.warning("projection_waits", code=error.code, reason=error.message)
        self._away = error.code
        await asyncio.sleep(self._pause_s * random.uniform(0.8, 1.2))  # noqa: S311 - jitter
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def _well(self) -> None:
        if self._away:
            _log.info("projection_goes_on")
        self._away, self._pause_s = "", self._idle_s

    async def _lead(self, connection: Connection) -> None:
        """Until something fails, or another epoch begins."""
        epoch = await self._wanted(connection)
        try:
            await self._project(connection, epoch)
        except ConflictError:
            raise
        except RagBaseError:
            async with connection.transaction():
                if await outbox.bound_changes(connection):
                    _log.warning("projection_will_be_made_anew", notes=outbox.CHANGES_MAX)
            raise

    async def _wanted(self, connection: Connection) -> UUID:
        while True:
            async with connection.transaction():
                epoch = await outbox.want_changes(connection)
            if epoch is not None:
                return epoch
            await asyncio.sleep(self._idle_s)

    async def _project(self, connection: Connection, epoch: UUID) -> None:
        await self._writer.prepare()
        used = await self._writer.last_fence()
        mark = await self._writer.claim(await outbox.next_fence(connection, used))
        whole = mark.epoch == str(epoch)
        if not whole and mark.filling != str(epoch):
            _log.info("projection_begins", epoch=str(epoch))
            await note_all(connection, self._writer)
            await self._writer.begin(epoch)
        upto = await outbox.last_change(connection)
        renewed = time.monotonic()
        check_at = renewed + (0.0 if whole else CHECK_S)
        mended: Counted | None = None
        while True:
            busy = await self._step(connection)
            # Later notes may never end: they tell of what the copy lags behind, not of a part of it.
            if not whole and not await outbox.waits(connection, upto):
                await self._writer.complete(epoch)
                whole = True
                _log.info("projection_complete", epoch=str(epoch))
            if time.monotonic() - renewed > RENEW_S:
                await outbox.renew_wish(connection)
                renewed = time.monotonic()
            if busy:
                continue
            if time.monotonic() >= check_at:
                check_at = time.monotonic() + CHECK_S
                if (await self._writer.mark()).epoch != str(epoch):
                    return  # emptied, or another's
                differs = await self._differs(connection)
                if differs not in (None, mended):  # what mending does not mend, was refused
                    mended = differs
                    _log.warning("projection_differs", hint="It is compared and mended.")
                    await note_all(connection, self._writer)
                    continue
            if await outbox.read_epoch(connection) != epoch:
                return
            await asyncio.sleep(self._idle_s)

    async def _step(self, connection: Connection) -> int:
        """One batch; how many notes it was."""
        changes = Changes()
        try:
            async with connection.transaction(isolation="repeatable_read"):
                changes = await outbox.take_changes(connection, self._batch)
                if changes.taken:
                    await self._writer.apply(await _present(connection, changes))
        except UpstreamError as error:
            return await self._refused_batch(connection, changes, error)
        except UnavailableError:
            self._batch = max(1, self._batch // 4)  # too much for its time or memory, perhaps
            raise
        self._well()
        if changes.taken:
            self._refused = 0
            self._batch = min(2 * self._batch, self._most)
        return changes.taken

    async def _refused_batch(
        self, connection: Connection, changes: Changes, error: UpstreamError
    ) -> int:
        """Find the one note that the server will not have, and go on without it."""
        if changes.taken > 1:
            self._batch = max(1, self._batch // 4)
            return changes.taken
        if self._refused >= REFUSED_MAX:
            raise error
        await self._writer.apply([])  # where this is refused, too, it is not the note's fault
        await outbox.drop_changes(connection, changes.notes)
        self._refused += 1
        _log.error(
            "projection_refused",
            reason=error.message,
            entities=sorted(changes.entities),
            concepts=sorted(changes.concepts),
            relations=sorted(changes.relations),
            concept_relations=sorted(changes.concept_relations),
        )
        return changes.taken

    async def _differs(self, connection: Connection) -> Counted | None:
        """How many things more Postgres holds of each kind: of a torn or emptied store. None: as many,
        or not known."""
        rows = await outbox.count_graph(connection)
        base, concepts = [await self._writer.counts(label) for label in LABELS]
        if await outbox.count_changes(connection):
            return None  # meanwhile something changed: the numbers say nothing
        found = (base.nodes, base.edges, concepts.nodes, concepts.edges)
        differs = tuple(stored - there for stored, there in zip(rows, found, strict=True))
        return differs if any(differs) else None


async def note_all(connection: Connection, writer: BoltWriter) -> None:
    """Have all looked at again that is stored, or projected without being stored."""
    await outbox.note_everything(connection)
    await note_gone(connection, writer)


async def note_gone(connection: Connection, writer: BoltWriter) -> None:
    """Have looked at again what is projected without being stored."""
    for label, (node, edge) in zip(
        LABELS, (("entity", "relation"), ("concept", "concept_relation")), strict=True
    ):
        after = 0
        while nodes := await writer.nodes(label, after, _PAGE):
            upto = nodes[-1].id
            edges = await writer.edges(label, after, upto)
            keys: list[Key] = [(node, one.id, None) for one in nodes]
            keys += [(edge, source, target) for source, target in {one.pair for one in edges}]
            await outbox.note_missing(connection, keys)
            after = upto


async def _present(connection: Connection, changes: Changes) -> list[Update]:
    """How all that the notes name stands now."""
    return [
        Update(
            "base",
            changes.entities,
            await mirror.read_entities(connection, changes.entities),
            changes.relations,
            await mirror.read_relations(connection, changes.relations),
        ),
        Update(
            "Concept",
            changes.concepts,
            await mirror.read_concepts(connection, changes.concepts),
            changes.concept_relations,
            await mirror.read_concept_relations(connection, changes.concept_relations),
        ),
    ]
