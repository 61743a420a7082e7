"""Removing all custom resources while an operator lives; the cluster is the fake one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ragbase_operator.cluster.fake import FakeCluster
from ragbase_operator.cluster.port import KindAbsentError
from ragbase_operator.commands.remove import remove_resources
from ragbase_operator.models.kinds import API_VERSION
from ragbase_operator.models.manifest import Manifest, Ref


def _object(kind: str, name: str, namespace: str, finalizer: str = "") -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if finalizer:
        metadata["finalizers"] = [finalizer]
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": {}}


async def _remove(
    cluster: FakeCluster, namespaces: tuple[str, ...] = (), timeout_s: float = 5
) -> tuple[list[Ref], list[str]]:
    told: list[str] = []
    left = await remove_resources(cluster, namespaces, timeout_s, told.append, pause_s=0.01)
    return left, told


async def test_what_works_on_a_ragbase_goes_before_it() -> None:
    cluster = FakeCluster()
    for kind in ("RagBase", "RagBaseRestore", "RagBaseBackup", "RagBaseBenchmark"):
        await cluster.apply(_object(kind, "docs", "here"))
    left, told = await _remove(cluster)
    assert left == []
    kinds = [line.split()[1] for line in told]
    assert kinds == ["RagBaseBenchmark", "RagBaseBackup", "RagBaseRestore", "RagBase"]


async def test_only_in_the_namespaces_that_are_looked_after() -> None:
    cluster = FakeCluster()
    for namespace in ("one", "two", "three"):
        await cluster.apply(_object("RagBase", "docs", namespace))
    left, _ = await _remove(cluster, ("one", "two"))
    assert left == []
    found = await cluster.list(API_VERSION, "RagBase", None)
    assert [each["metadata"]["namespace"] for each in found] == ["three"]


async def test_it_waits_until_the_operator_lets_go() -> None:
    cluster = FakeCluster()
    held = _object("RagBase", "docs", "here", "ragbase.dev/retention")
    await cluster.apply(held)
    removing = asyncio.create_task(_remove(cluster))
    await asyncio.sleep(0.05)
    assert not removing.done()
    await cluster.apply(_object("RagBase", "docs", "here"))  # without its finalizer
    left, told = await removing
    assert left == []
    assert told == ["deleting RagBase here/docs"], "asked once"


async def test_what_nobody_lets_go_is_named_when_the_time_is_over() -> None:
    cluster = FakeCluster()
    await cluster.apply(_object("RagBase", "docs", "here", "ragbase.dev/retention"))
    left, _ = await _remove(cluster, timeout_s=0.05)
    assert [str(each) for each in left] == ["RagBase here/docs"]


async def test_kinds_that_are_not_installed_have_no_objects() -> None:
    left, told = await _remove(_WithoutRestores())
    assert left == []
    assert told == []


class _WithoutRestores(FakeCluster):
    """A cluster where somebody has deleted a CRD."""

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None,
        labels: Mapping[str, str] | None = None,
    ) -> Sequence[Manifest]:
        if kind == "RagBaseRestore":
            raise KindAbsentError(kind)
        return await super().list(api_version, kind, namespace, labels)
