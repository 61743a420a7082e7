"""What others write between the operator's look and its apply, on a real API server."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest_asyncio

from e2e.cluster import ControlPlane
from ragbase_operator.builders.images import default_images
from ragbase_operator.cluster.client import KubernetesCluster
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.reconcile.context import Context, Outcome
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.ragbase import reconcile

from .stage import API_VERSION, FakeMeter, FakeProbe


class Overtaken:
    """A cluster in which somebody writes right before our apply of an object."""

    def __init__(self, cluster: KubernetesCluster) -> None:
        self._cluster = cluster
        self.before: dict[tuple[str, str], Callable[[], object]] = {}
        """Kind and name, to what somebody does; each once."""

    async def apply(self, manifest: Manifest, *, subresource: str | None = None) -> Manifest:
        act = self.before.pop((manifest["kind"], manifest["metadata"]["name"]), None)
        if act is not None:
            act()
        return await self._cluster.apply(manifest, subresource=subresource)

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None,
        labels: Mapping[str, str] | None = None,
    ) -> Sequence[Manifest]:
        return await self._cluster.list(api_version, kind, namespace, labels)

    async def delete(self, ref: Ref, *, uid: str | None = None) -> bool:
        return await self._cluster.delete(ref, uid=uid)


class Live:
    """A RagBase `kb` on a real API server, reconciled here."""

    def __init__(self, cluster: KubernetesCluster, server: ControlPlane, namespace: str) -> None:
        self.cluster = Overtaken(cluster)
        self.server = server
        self.namespace = namespace
        self.memory = Memory()
        self.meter = FakeMeter()

    async def create(self, spec: dict[str, Any]) -> None:
        metadata = {"name": "kb", "namespace": self.namespace}
        body = {"apiVersion": API_VERSION, "kind": "RagBase", "metadata": metadata, "spec": spec}
        await self.cluster.apply(body)

    async def run(self) -> Outcome:
        context = Context(
            cluster=self.cluster,
            images=default_images("registry.example/ragbase", "0.1.0"),
            version="0.1.0",
            probe=FakeProbe(),
            meter=self.meter,
            clock=lambda: datetime.now(UTC),
            draw=lambda: "a" * 64,
        )
        [body] = await self.cluster.list(API_VERSION, "RagBase", self.namespace)
        return await reconcile(body, context, self.memory)

    def secret(self, name: str) -> dict[str, str]:
        path = f"/api/v1/namespaces/{self.namespace}/secrets/{name}"
        data = self.server.request("GET", path).body.get("data") or {}
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def edit_secret(self, name: str, **values: str) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/secrets/{name}?fieldManager=someone"
        kind = "application/merge-patch+json"
        answer = self.server.request("PATCH", path, {"stringData": values}, content_type=kind)
        assert answer.status == 200, answer.body

    def make_secret(self, name: str, **values: str) -> None:
        body = {"metadata": {"name": name}, "type": "Opaque", "stringData": values}
        path = f"/api/v1/namespaces/{self.namespace}/secrets"
        assert self.server.request("POST", path, body).status == 201


@pytest_asyncio.fixture
async def live(server: ControlPlane, namespace: str) -> AsyncIterator[Live]:
    async with await KubernetesCluster.connect(server.kubeconfig()) as cluster:
        yield Live(cluster, server, namespace)


async def test_a_secret_that_is_edited_meanwhile_is_not_overwritten(live: Live) -> None:
    await live.create({})
    await live.run()
    live.memory = Memory()  # so that the next pass applies it again
    live.cluster.before["Secret", "kb-api-key"] = lambda: live.edit_secret(
        "kb-api-key", admin="rb_x_rotated"
    )
    outcome = await live.run()
    assert live.secret("kb-api-key")["admin"] == "rb_x_rotated"
    assert outcome.after_s == 1, "it is looked at again at once"
    await live.run()
    assert live.secret("kb-api-key")["admin"] == "rb_x_rotated"
    assert live.meter.outcomes["Secret", "conflict"] == 1


async def test_a_secret_that_is_made_meanwhile_is_kept(live: Live) -> None:
    await live.create({})
    live.cluster.before["Secret", "kb-api-key"] = lambda: live.make_secret(
        "kb-api-key", admin="rb_x_mine"
    )
    await live.run()
    assert live.secret("kb-api-key") == {"admin": "rb_x_mine"}
    await live.run()
    assert live.secret("kb-api-key")["admin"] == "rb_x_mine"
    assert live.secret("kb-api-key")["probe"].startswith("rb_")


async def test_pods_never_have_the_hash_of_a_secret_that_was_not_written(live: Live) -> None:
    """Else each such race would roll them twice."""
    await live.create({})
    live.cluster.before["Secret", "kb-api-key"] = lambda: live.make_secret(
        "kb-api-key", admin="rb_x_mine"
    )
    await live.run()
    assert await live.cluster.list("apps/v1", "Deployment", live.namespace) == []
    await live.run()
    first = await live.cluster.list("apps/v1", "Deployment", live.namespace)
    await live.run()
    second = await live.cluster.list("apps/v1", "Deployment", live.namespace)
    assert [d["spec"] for d in first] == [d["spec"] for d in second]


async def test_replicas_that_an_autoscaler_sets_meanwhile_stay(live: Live) -> None:
    await live.create({"api": {"replicas": 5}})
    await live.run()
    await live.create({"api": {"autoscaling": {"enabled": True, "maxReplicas": 9}}})

    def scale() -> None:
        path = f"/apis/apps/v1/namespaces/{live.namespace}/deployments/kb-api/scale"
        kind = "application/merge-patch+json"
        body = {"spec": {"replicas": 7}}
        query = "?fieldManager=kube-controller-manager"
        assert live.server.request("PATCH", path + query, body, content_type=kind).status == 200

    live.cluster.before["Deployment", "kb-api"] = scale
    for _ in range(3):
        await live.run()
        found = await live.cluster.list("apps/v1", "Deployment", live.namespace)
        api = next(each for each in found if each["metadata"]["name"] == "kb-api")
        assert api["spec"]["replicas"] == 7
