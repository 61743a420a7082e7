"""Carry out a plan: all children at once, and the error of one stops no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ragbase_operator.cluster.port import NEVER, ClusterError, ConflictError
from ragbase_operator.models.manifest import Manifest, Ref, ref_of
from ragbase_operator.models.objects import RagBase
from ragbase_operator.reconcile.context import Context
from ragbase_operator.reconcile.memory import Applied, Memory, fingerprint, signature
from ragbase_operator.reconcile.observe import find
from ragbase_operator.reconcile.ownership import fault_of_name, on_version, other_owner
from ragbase_operator.reconcile.plan import Plan
from ragbase_operator.status.faults import Fault, fault_of_error

__all__ = ["Done", "carry_out"]


@dataclass(slots=True)
class Done:
    """Children as the API server gave them back, why others failed, and what was deleted."""

    applied: dict[Ref, Manifest] = field(default_factory=dict)
    failed: dict[Ref, Fault] = field(default_factory=dict)
    pruned: list[Ref] = field(default_factory=list)
    stale: list[Ref] = field(default_factory=list)
    """Others were written meanwhile by somebody else: look again, and decide anew."""


async def carry_out(ragbase: RagBase, plan: Plan, context: Context, memory: Memory) -> Done:
    """Apply, then prune; both with bounded concurrency. Raises nothing for a single child.

    Secrets go first: where one has changed since it was read, the hashes of it in the pods of this
    plan are those of values that were never written, so nothing else of it is applied.
    """
    done = Done(failed=dict(plan.refused))
    job = _Work(ragbase, context, memory, done)
    await job.each(job.apply, (each for each in plan.apply if each["kind"] == "Secret"))
    if not done.stale:
        await job.each(job.apply, (each for each in plan.apply if each["kind"] != "Secret"))
        await job.each(job.prune, plan.prune)
    _count(plan.held, "held", context)
    _count(plan.skipped, "skipped", context)
    _count(list(plan.refused), "refused", context)
    return done


@dataclass(frozen=True, slots=True)
class _Work:
    """What every step of one plan needs."""

    ragbase: RagBase
    context: Context
    memory: Memory
    done: Done

    async def each(
        self, step: Callable[[Manifest], Awaitable[None]], manifests: Iterable[Manifest]
    ) -> None:
        """A step for all, so many at once."""
        gate = asyncio.Semaphore(self.context.parallel)

        async def one(manifest: Manifest) -> None:
            async with gate:
                await step(manifest)

        await asyncio.gather(*map(one, manifests))

    async def apply(self, manifest: Manifest) -> None:
        """Apply one child."""
        ref = ref_of(manifest)
        try:
            became = await self._applied(ref, manifest)
        except ConflictError:
            self._forget(ref, "conflict")
            self.done.stale.append(ref)
            return
        except ClusterError as error:
            self._forget(ref, "failed")
            self.done.failed[ref] = fault_of_error(error)
            return
        if became is None:
            return
        self.memory.applied[ref] = Applied(sent=fingerprint(manifest), became=signature(became))
        self.done.applied[ref] = became
        self.context.meter.applied(ref.kind, "applied")

    async def _applied(self, ref: Ref, manifest: Manifest) -> Manifest | None:
        """The child as it became; None where its name is another's.

        A name that is taken shows only here: what is another's has none of our labels, and was
        not among the children that were listed.
        """
        try:
            return await self.context.cluster.apply(manifest)
        except ConflictError:
            if manifest["metadata"].get("resourceVersion") != NEVER or ref.kind == "Secret":
                raise
        existing = await find(ref, self.context)
        if existing is None:
            raise ConflictError(f"{ref}: it came and went")
        owner = other_owner(existing, self.ragbase)
        if owner is None and ref.kind == "Job":
            await self.context.cluster.delete(ref, uid=existing["metadata"]["uid"])
            raise ConflictError(f"{ref}: that of an earlier RagBase cannot be changed, and is gone")
        if owner is None:
            return await self.context.cluster.apply(on_version(manifest, existing))
        self._forget(ref, "refused")
        self.done.failed[ref] = fault_of_name(ref, owner)
        return None

    async def prune(self, child: Manifest) -> None:
        """Delete one child."""
        ref = ref_of(child)
        try:
            await self.context.cluster.delete(ref, uid=child["metadata"].get("uid"))
        except ClusterError as error:
            self.done.failed[ref] = fault_of_error(error)
            self.context.meter.applied(ref.kind, "failed")
            return
        self.memory.applied.pop(ref, None)
        self.done.pruned.append(ref)
        self.context.meter.applied(ref.kind, "pruned")

    def _forget(self, ref: Ref, outcome: str) -> None:
        self.memory.applied.pop(ref, None)
        self.context.meter.applied(ref.kind, outcome)


def _count(refs: Sequence[Ref], outcome: str, context: Context) -> None:
    for ref in refs:
        context.meter.applied(ref.kind, outcome)
