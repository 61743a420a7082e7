"""The same tests on a real API server and on the fake."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol

import pytest
import pytest_asyncio

from e2e.cluster import ControlPlane
from ragbase_operator.cluster.client import KubernetesCluster
from ragbase_operator.cluster.fake import FakeCluster
from ragbase_operator.cluster.port import Cluster
from ragbase_operator.models.manifest import Manifest, Ref

from ..eventually import eventually
from .widget import API_VERSION, CRD

PATHS = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps/{}",
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments/{}",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets/{}",
    "Widget": f"/apis/{API_VERSION}/namespaces/{{}}/widgets/{{}}",
}
"""Of the kinds that tests read and edit behind the port's back."""


class Twin(Protocol):
    """A cluster through the port, and what others see and do there."""

    namespace: str

    @property
    def cluster(self) -> Cluster: ...

    def get(self, ref: Ref) -> Manifest | None: ...

    def edit(self, ref: Ref, change: Callable[[Manifest], Any]) -> None: ...


class FakeTwin:
    """The fake."""

    def __init__(self) -> None:
        self.cluster = FakeCluster()
        self.cluster.install(API_VERSION, "Widget")
        self.namespace = "tests"
        self.get = self.cluster.get
        self.edit = self.cluster.edit


class RealTwin:
    """A namespace of a real cluster."""

    def __init__(self, cluster: KubernetesCluster, server: ControlPlane, namespace: str) -> None:
        self.cluster = cluster
        self.server = server
        self.namespace = namespace

    def get(self, ref: Ref) -> Manifest | None:
        """An object, read by another client."""
        answer = self.server.request("GET", PATHS[ref.kind].format(ref.namespace, ref.name))
        return answer.body if answer.status == 200 else None

    def edit(self, ref: Ref, change: Callable[[Manifest], Any]) -> None:
        """Another client reads, changes and writes back; again where a controller was first."""
        path = PATHS[ref.kind].format(ref.namespace, ref.name)
        while True:
            found = self.get(ref)
            assert found is not None
            change(found)
            answer = self.server.request("PUT", f"{path}?fieldManager=someone", found)
            if answer.status != 409:
                break
        assert answer.status == 200, answer.body


@pytest_asyncio.fixture
async def real(api_server: ControlPlane, namespace: str) -> AsyncIterator[RealTwin]:
    """A client of the control plane that knows widgets."""
    async with await KubernetesCluster.connect(api_server.kubeconfig()) as cluster:
        await cluster.apply(CRD)
        path = PATHS["Widget"].rpartition("/")[0].format(namespace)

        async def served() -> bool:
            return api_server.request("GET", path).status == 200

        await eventually(served)
        yield RealTwin(cluster, api_server, namespace)


@pytest.fixture(params=["fake", "real"])
def twin(request: pytest.FixtureRequest) -> Twin:
    """One of both: what holds of it must hold of the other."""
    if request.param == "fake":
        return FakeTwin()
    found: RealTwin = request.getfixturevalue("real")
    return found
