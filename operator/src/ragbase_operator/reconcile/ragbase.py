"""One pass over a RagBase: look, build, plan, apply, prune, read back, tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ragbase_operator.builders.build import build
from ragbase_operator.builders.cnpg import CLUSTER
from ragbase_operator.builders.handover import leave_replicas
from ragbase_operator.builders.kinds import FOREIGN_KINDS, kind_of
from ragbase_operator.builders.references import secret_uses
from ragbase_operator.cluster.port import KindAbsentError
from ragbase_operator.models.kinds import API_VERSION, BACKUP, BENCHMARK, RAGBASE
from ragbase_operator.models.manifest import Manifest, ref_of
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.ragbase import RagBaseSpec
from ragbase_operator.reconcile.apply import Done, carry_out
from ragbase_operator.reconcile.context import Context, Outcome
from ragbase_operator.reconcile.inputs import gather_inputs, missing_secrets, probe_key
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.observe import Observed, observe, with_events
from ragbase_operator.reconcile.plan import Plan, make_plan
from ragbase_operator.reconcile.reading import is_paused, read_ragbase, version_of
from ragbase_operator.reconcile.reindex import index_embedding, keep_index, needs_reindex
from ragbase_operator.reconcile.report import newest_of, status_of
from ragbase_operator.reconcile.searching import count, index_of, projection, search
from ragbase_operator.status.judge import Facts, judge
from ragbase_operator.status.reasons import Reason, Type
from ragbase_operator.status.snapshot import Snapshot
from ragbase_operator.status.verdict import Verdict, bad
from ragbase_operator.status.writer import last_status, write_status

__all__ = ["reconcile"]


_STALE_S = 1.0
"""Until the next look after one that was overtaken by other writers."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """What a pass knows by the time it judges."""

    desired: Sequence[Manifest]
    seen: Snapshot
    observed: Observed
    reindex: str
    served: RagBase
    """The RagBase as it is built: with the model of its index, whatever the spec says."""
    stale: bool
    """Whether something was written by others between our look and our apply."""


async def reconcile(body: Mapping[str, Any], context: Context, memory: Memory) -> Outcome:
    """Bring the children of a RagBase to what its spec asks, and its status to what is seen.

    Level-triggered: it looks at everything each time, and may be cancelled at any moment. Raises
    `ClusterError` where the API server does not answer; the error of one child is a condition.
    """
    try:
        ragbase = read_ragbase(body)
    except ValidationError as error:
        return await _tell_invalid(body, error, context, memory)
    async with context.gate:
        observed = await observe(ragbase, context)
        made = await _converge(ragbase, observed, context, memory)
    verdicts = await _judge(ragbase, made, context, memory)
    before = last_status(ragbase, version_of(body), memory.written)
    status = status_of(
        ragbase,
        before,
        verdicts,
        made.seen,
        await _extra(ragbase, made, verdicts, context, memory, before),
        context.clock(),
    )
    await write_status(
        context.cluster, RAGBASE.name, ragbase, before, status, context.clock(), memory.written
    )
    return _outcome(verdicts, made, context)


async def _converge(
    ragbase: RagBase, observed: Observed, context: Context, memory: Memory
) -> _Pass:
    reindex = await _reindex(ragbase, observed, context, memory)
    served = keep_index(ragbase) if reindex else ragbase
    desired = _possible(build(served, gather_inputs(served, observed, context)), observed)
    desired = [leave_replicas(each, observed.children.get(ref_of(each))) for each in desired]
    paused = is_paused(ragbase)
    plan = Plan() if paused else _plan(ragbase, desired, observed, memory)
    done = await carry_out(ragbase, plan, context, memory)
    seen = await with_events(_read_back(observed, done), ragbase.namespace, context)
    return _Pass(desired, seen, observed, reindex, served, stale=bool(done.stale))


def _plan(
    ragbase: RagBase, desired: Sequence[Manifest], observed: Observed, memory: Memory
) -> Plan:
    return make_plan(ragbase, desired, observed.children, observed.data, memory.applied)


async def _reindex(ragbase: RagBase, observed: Observed, context: Context, memory: Memory) -> str:
    """Asks for the count only where the model differs: an empty index may change its model."""
    if not needs_reindex(ragbase, None):
        return ""
    key = probe_key(ragbase, observed.secrets)
    documents = await count(ragbase, key, context, memory, now_please=True)
    return needs_reindex(ragbase, documents)


def _possible(desired: Sequence[Manifest], observed: Observed) -> list[Manifest]:
    """Without objects of kinds that the cluster does not know."""
    return [
        each
        for each in desired
        if (kind := kind_of(each)) not in FOREIGN_KINDS or kind.foreign_name in observed.kinds
    ]


def _read_back(observed: Observed, done: Done) -> Snapshot:
    children = {**observed.children, **done.applied}
    for ref in done.pruned:
        children.pop(ref, None)
    return Snapshot(children=children, pods=observed.pods, failed=done.failed)


async def _judge(
    ragbase: RagBase, made: _Pass, context: Context, memory: Memory
) -> dict[Type, Verdict]:
    spec = made.served.spec
    facts = Facts(
        cnpg_absent=_lacks_cnpg(spec, made.observed),
        missing=missing_secrets(secret_uses(spec), made.observed.secrets),
        paused=is_paused(ragbase),
        reindex=made.reindex,
    )
    verdicts = judge(spec, made.desired, made.seen, facts)
    if verdicts[Type.READY].reason is not Reason.PROGRESSING or not _parts_hold(verdicts):
        return verdicts
    key = probe_key(ragbase, made.observed.secrets)
    graph = await projection(ragbase, key, context, memory)
    if graph is not None:
        ready = Verdict(graph.status, graph.reason, f"{Type.GRAPH}: {graph.message}")
        return {**verdicts, Type.GRAPH: graph, Type.READY: ready}
    return {**verdicts, Type.READY: await search(ragbase, key, context, memory)}


def _parts_hold(verdicts: Mapping[Type, Verdict]) -> bool:
    aside = (Type.READY, Type.REINDEX, Type.PAUSED)
    return all(verdict.status == "True" for kind, verdict in verdicts.items() if kind not in aside)


def _lacks_cnpg(spec: RagBaseSpec, observed: Observed) -> bool:
    return spec.database.mode == "cnpg" and CLUSTER.foreign_name not in observed.kinds


async def _extra(
    ragbase: RagBase,
    made: _Pass,
    verdicts: Mapping[Type, Verdict],
    context: Context,
    memory: Memory,
    before: Mapping[str, Any],
) -> dict[str, Any]:
    """Parts of the status that are remembered from pass to pass."""
    ready = verdicts[Type.READY].status == "True"
    if ready:
        await count(ragbase, probe_key(ragbase, made.observed.secrets), context, memory)
    embedding = index_embedding(made.served.spec.embeddings) if ready else before.get("embedding")
    crons = [
        (child.get("status") or {}).get("lastSuccessfulTime")
        for child in made.seen.of_kind("CronJob")
    ]
    backups = await _tasks(BACKUP.name, ragbase, context)
    benchmarks = await _tasks(BENCHMARK.name, ragbase, context)
    return {
        "index": index_of(memory, before),
        "embedding": embedding,
        "lastBackup": newest_of(backups, ragbase.name, [time for time in crons if time]),
        "lastBenchmark": newest_of(benchmarks, ragbase.name),
    }


async def _tasks(kind: str, ragbase: RagBase, context: Context) -> Sequence[Manifest]:
    try:
        return await context.cluster.list(API_VERSION, kind, ragbase.namespace)
    except KindAbsentError:
        return ()


async def _tell_invalid(
    body: Mapping[str, Any], error: ValidationError, context: Context, memory: Memory
) -> Outcome:
    """An object of another version's CRD: nothing is changed, and the status says why."""
    metadata = body["metadata"]
    ragbase = RagBase(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        spec=RagBaseSpec(),
        status=dict(body.get("status") or {}),
    )
    before = last_status(ragbase, version_of(body), memory.written)
    fields = "; ".join(
        f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
    )
    verdict = bad(Reason.INVALID_SPEC, f"{fields}; mend the spec, and apply this version's CRDs")
    status = status_of(ragbase, before, {Type.READY: verdict}, Snapshot(), {}, context.clock())
    await write_status(
        context.cluster, RAGBASE.name, ragbase, before, status, context.clock(), memory.written
    )
    return Outcome(context.resync_s, "invalid", ((Type.READY, "False"),))


def _outcome(verdicts: Mapping[Type, Verdict], made: _Pass, context: Context) -> Outcome:
    """A RagBase that is well is looked at again at leisure, any other one soon."""
    failed = made.seen.failed
    well = verdicts[Type.READY].status == "True" and not failed
    after_s = context.resync_s if well else context.retry_s
    return Outcome(
        after_s=_STALE_S if made.stale else after_s,
        result="failed" if failed else ("ready" if well else "waiting"),
        conditions=tuple((str(kind), verdict.status) for kind, verdict in verdicts.items()),
    )
