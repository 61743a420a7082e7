"""When the API is asked: a search as the proof of readiness, and counts once in a while."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from ragbase_operator.builders.components import api_url
from ragbase_operator.models.objects import RagBase
from ragbase_operator.reconcile.context import Context
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.probe import SearchAnswer
from ragbase_operator.status.reasons import Reason
from ragbase_operator.status.verdict import Verdict, bad, good

__all__ = ["count", "index_of", "projection", "search"]

SEARCH_EVERY = timedelta(seconds=30)
"""An answer is believed for so long; a refusal is tried again in each pass."""
COUNT_EVERY = timedelta(seconds=60)
CONNECTED = "connected"
"""`memgraph` of the API's health where all is well."""


async def search(ragbase: RagBase, key: str | None, context: Context, memory: Memory) -> Verdict:
    """The verdict of a search with the key `probe`, asked anew where the last one is old."""
    now = context.clock()
    answer = memory.answer
    if answer is None or not answer.ok or _is_old(memory.answered_at, now, SEARCH_EVERY):
        answer = await context.probe.search(api_url(ragbase), key)
        memory.answer, memory.answered_at = answer, now
    return _verdict(answer)


async def projection(
    ragbase: RagBase, key: str | None, context: Context, memory: Memory
) -> Verdict | None:
    """What keeps the API from Memgraph; None: nothing, there is none, or the API does not tell.

    As a search: a good answer is believed for a while, any other is asked again in each pass.
    """
    if not ragbase.spec.graph.projected:
        return None
    now = context.clock()
    if memory.projection != CONNECTED or _is_old(memory.projected_at, now, SEARCH_EVERY):
        memory.projection = await context.probe.projection(api_url(ragbase), key)
        memory.projected_at = now
    if memory.projection in (None, CONNECTED):
        return None
    return bad(
        Reason.GRAPH_UNREACHABLE,
        f"the API cannot use Memgraph: {memory.projection}; until then Postgres answers, and what "
        f"Memgraph missed is brought in afterwards",
    )


async def count(
    ragbase: RagBase, key: str | None, context: Context, memory: Memory, *, now_please: bool = False
) -> int | None:
    """How many documents there are; None: not known. Asked at most once a minute."""
    now = context.clock()
    if now_please or _is_old(memory.counted_at, now, COUNT_EVERY):
        memory.counts = await context.probe.count(api_url(ragbase), key) or memory.counts
        memory.counted_at = now
    return memory.counts.documents if memory.counts else None


def index_of(memory: Memory, before: Mapping[str, Any]) -> dict[str, Any] | None:
    """`status.index`: the newest counts, else those of the status before."""
    if memory.counts is None:
        return before.get("index")
    counts = memory.counts
    return {"documents": counts.documents, "chunks": counts.chunks, "entities": counts.entities}


def _verdict(answer: SearchAnswer) -> Verdict:
    if not answer.ok:
        return bad(
            Reason.SEARCH_FAILED, f"the parts are up, but no search answers: {answer.message}"
        )
    told = f"; without all it has: {answer.message}" if answer.message else ""
    return good(Reason.AVAILABLE, f"a search answers{told}")


def _is_old(since: datetime | None, now: datetime, age: timedelta) -> bool:
    return since is None or now - since >= age
