"""Removing many documents: by ids or by a filter, in transactions of bounded size."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeAlias

from ragbase.errors import InvalidInputError
from ragbase.models.access import FULL_ACCESS, Access
from ragbase.models.batch import DeleteIn, DeleteOut
from ragbase.models.domain import Collection
from ragbase.models.filters import And, Compare, Filter, Not, parse_filter
from ragbase.retrieval.matching import Matching
from ragbase.services.bound import CollectionBound
from ragbase.services.collections import CollectionService
from ragbase.storage import documents as store
from ragbase.storage.again import again_after_deadlock
from ragbase.storage.collections import DEFAULT
from ragbase.storage.deletion import database_time, existing, first_within
from ragbase.storage.pool import Database

__all__ = ["DeletionService", "Report"]

DOCUMENTS_AT_ONCE = 500
CHUNKS_AT_ONCE = 2_000
"""Bounds of one transaction, of what it locks and of how long it takes."""
IDS_AT_ONCE = 10_000
"""Matching ids that are looked up, and held in memory, at a time."""

Report: TypeAlias = Callable[[int], None]
"""Told how many documents are removed so far."""


class DeletionService(CollectionBound):
    """Removes documents that ``access`` sees; others are missing to it.

    A removal may be interrupted at any moment and repeated: every transaction removes whole
    documents. What is accepted after a removal by filter stays.
    """

    def __init__(
        self,
        database: Database,
        collections: CollectionService,
        *,
        ids_max: int,
        access: Access = FULL_ACCESS,
    ) -> None:
        self._database = database
        super().__init__(collections, access)
        self._ids_max = ids_max

    async def check(self, request: DeleteIn) -> Collection | None:
        """The collection that is meant; None: any. Raises what `delete` would raise at once."""
        return (await self._checked(request)).collection

    async def delete(
        self,
        request: DeleteIn,
        report: Report = lambda _: None,
        *,
        accepted_at: datetime | None = None,
    ) -> DeleteOut:
        """Remove what ``request`` names, or count it with ``dry_run``.

        A filter spares documents that were accepted after the request (``accepted_at``, else now).

        Raises `InvalidInputError` where it names nothing, or everything as if by mistake,
        `NotFoundError` for the collection.
        """
        checked = await self._checked(request)
        if checked.matching is None:
            return await self._by_ids(checked, dry_run=request.dry_run)
        if request.dry_run:
            async with self._database.read() as connection:
                count = await checked.matching.count(connection)
            return DeleteOut(deleted=count, dry_run=True)
        return DeleteOut(deleted=await self._by_filter(checked.matching, accepted_at, report))

    async def _checked(self, request: DeleteIn) -> _Checked:
        if (request.ids is None) == (request.filter is None):
            raise InvalidInputError(
                "Give `ids` or `filter`, one of both.", code="nothing_named", field="ids"
            )
        if request.filter is not None:
            node = _checked_filter(request.filter)
            collection = await self._collections.get(request.collection or DEFAULT)
            return _Checked(collection, matching=Matching(node, collection.id))
        ids = self._checked_ids(request.ids or [])
        name = request.collection
        return _Checked(None if name is None else await self._collections.get(name), ids)

    def _checked_ids(self, ids: list[int]) -> list[int]:
        if not ids:
            raise InvalidInputError("ids is empty.", code="nothing_named", field="ids")
        if len(ids) > self._ids_max:
            raise InvalidInputError(
                f"ids has {len(ids)} items; at most {self._ids_max} are taken (RAGBASE_MAX_BATCH).",
                code="batch_too_large",
                field="ids",
            )
        return list(dict.fromkeys(ids))

    async def _by_ids(self, checked: _Checked, *, dry_run: bool) -> DeleteOut:
        names = self._visible if checked.collection is None else [checked.collection.name]
        if dry_run:
            async with self._database.read() as connection:
                found = set(await existing(connection, checked.ids, names))
        else:
            found = set()
            waiting = sorted(checked.ids)
            while waiting:
                some = waiting[:DOCUMENTS_AT_ONCE]
                dealt_with, gone = await self._remove_first(some, names)
                found.update(gone)
                del waiting[:dealt_with]
        missing = [number for number in checked.ids if number not in found]
        return DeleteOut(deleted=len(found), missing=missing, dry_run=dry_run)

    async def _by_filter(
        self, matching: Matching, accepted_at: datetime | None, report: Report
    ) -> int:
        removed = after = 0
        if accepted_at is None:
            async with self._database.read() as connection:
                accepted_at = await database_time(connection)
        matching = replace(matching, accepted_by=accepted_at)
        while True:
            async with self._database.read() as connection:
                waiting = await matching.page(connection, after=after, limit=IDS_AT_ONCE)
            if not waiting:
                return removed
            after = waiting[-1]
            while waiting:
                last, count = await self._remove_matching(matching, waiting[:DOCUMENTS_AT_ONCE])
                del waiting[: bisect_right(waiting, last)]
                removed += count
                report(removed)

    @again_after_deadlock
    async def _remove_first(
        self, some: Sequence[int], names: Sequence[str] | None
    ) -> tuple[int, list[int]]:
        """Remove the first ones: how many were dealt with, and ids of those that were there."""
        async with self._database.transaction() as connection:
            portion = await first_within(connection, some, chunks=CHUNKS_AT_ONCE)
            return len(portion), list(await store.delete_documents(connection, portion, names))

    @again_after_deadlock
    async def _remove_matching(self, matching: Matching, some: Sequence[int]) -> tuple[int, int]:
        """Remove the first ones that match still: the last id dealt with, and how many went."""
        async with self._database.transaction() as connection:
            matched = await matching.lock(connection, some)
            portion = await first_within(connection, matched, chunks=CHUNKS_AT_ONCE)
            gone = await store.delete_documents(connection, portion)
        return (some[-1] if len(portion) == len(matched) else portion[-1]), len(gone)


@dataclass(frozen=True, slots=True)
class _Checked:
    """A request that names something: either ``ids`` or what is ``matching``."""

    collection: Collection | None
    ids: Sequence[int] = ()
    matching: Matching | None = None


def _checked_filter(raw: dict[str, object]) -> Filter:
    node = parse_filter(raw)
    if _constant(node) is True:
        raise InvalidInputError(
            "This filter has no condition, so every document matches it. To remove all of a "
            'collection\'s documents, say so: {"@id": {"exists": true}}.',
            code="empty_filter",
            field="filter",
        )
    return node


def _constant(node: Filter) -> bool | None:
    """What the form of a filter alone decides, whatever the document; None: nothing."""
    if isinstance(node, Compare):
        return False if node.op == "in" and not node.value else None
    if isinstance(node, Not):
        inner = _constant(node.node)
        return None if inner is None else not inner
    decisive = not isinstance(node, And)  # one true makes an "or" true, one false an "and" false
    parts = [_constant(part) for part in node.nodes]
    if decisive in parts:
        return decisive
    return None if None in parts else not decisive
