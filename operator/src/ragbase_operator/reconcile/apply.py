"""Carry out a plan: all children at once, and the error of one stops no other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.models.manifest import Manifest, Ref, ref_of
from ragbase_operator.reconcile.context import Context
from ragbase_operator.reconcile.memory import Applied, Memory, fingerprint, signature
from ragbase_operator.reconcile.plan import Plan
from ragbase_operator.status.faults import Fault, fault_of_error

__all__ = ["Done", "carry_out"]


@dataclass(slots=True)
class Done:
    """Children as the API server gave them back, why others failed, and what was deleted."""

    applied: dict[Ref, Manifest] = field(default_factory=dict)
    failed: dict[Ref, Fault] = field(default_factory=dict)
    pruned: list[Ref] = field(default_factory=list)


async def carry_out(plan: Plan, context: Context, memory: Memory) -> Done:
    """Apply, then prune; both with bounded concurrency. Raises nothing for a single child."""
    done, gate = Done(), asyncio.Semaphore(context.parallel)

    async def apply(manifest: Manifest) -> None:
        async with gate:
            await _apply(manifest, context, memory, done)

    async def prune(child: Manifest) -> None:
        async with gate:
            await _prune(child, context, memory, done)

    await asyncio.gather(*map(apply, plan.apply))
    await asyncio.gather(*map(prune, plan.prune))
    _count(plan.held, "held", context)
    _count(plan.skipped, "skipped", context)
    return done


async def _apply(manifest: Manifest, context: Context, memory: Memory, done: Done) -> None:
    ref = ref_of(manifest)
    try:
        became = await context.cluster.apply(manifest)
    except ClusterError as error:
        memory.applied.pop(ref, None)
        done.failed[ref] = fault_of_error(error)
        context.meter.applied(ref.kind, "failed")
        return
    memory.applied[ref] = Applied(sent=fingerprint(manifest), became=signature(became))
    done.applied[ref] = became
    context.meter.applied(ref.kind, "applied")


async def _prune(child: Manifest, context: Context, memory: Memory, done: Done) -> None:
    ref = ref_of(child)
    try:
        await context.cluster.delete(ref, uid=child["metadata"].get("uid"))
    except ClusterError as error:
        done.failed[ref] = fault_of_error(error)
        context.meter.applied(ref.kind, "failed")
        return
    memory.applied.pop(ref, None)
    done.pruned.append(ref)
    context.meter.applied(ref.kind, "pruned")


def _count(refs: Sequence[Ref], outcome: str, context: Context) -> None:
    for ref in refs:
        context.meter.applied(ref.kind, outcome)
