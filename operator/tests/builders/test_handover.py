"""An autoscaler that is switched on finds the replicas as they were; a real API server decides."""

from __future__ import annotations

from typing import Any

from e2e.cluster import ControlPlane
from ragbase_operator.builders.build import build
from ragbase_operator.builders.handover import leave_replicas
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.labels import FIELD_MANAGER
from ragbase_operator.models.manifest import Manifest

from .conftest import Make
from .found import Found

SCALED = {"autoscaling": {"enabled": True, "minReplicas": 2}}


class Deployments:
    """The Deployment of an API in a namespace of a real API server."""

    def __init__(self, server: ControlPlane, namespace: str) -> None:
        self.server = server
        self.path = f"/apis/apps/v1/namespaces/{namespace}/deployments/docs-api"

    def apply(self, manifest: Manifest) -> int:
        """The status of the answer. Without its owner: there is none, and the garbage collector
        knows."""
        metadata = {k: v for k, v in manifest["metadata"].items() if k != "ownerReferences"}
        manifest = {**manifest, "metadata": metadata}
        path = f"{self.path}?fieldManager={FIELD_MANAGER}&force=true"
        kind = "application/apply-patch+yaml"
        return int(self.server.request("PATCH", path, manifest, content_type=kind).status)

    def scale(self, replicas: int) -> None:
        """As an autoscaler does."""
        path = f"{self.path}/scale?fieldManager=kube-controller-manager"
        kind = "application/merge-patch+json"
        patch = {"spec": {"replicas": replicas}}
        assert self.server.request("PATCH", path, patch, content_type=kind).status == 200

    def hand_over(self, manifest: Manifest) -> int:
        """As the operator applies it; a conflict (a controller writes status) is tried again."""
        while (status := self.apply(leave_replicas(manifest, self.read()))) == 409:
            pass
        return status

    def read(self) -> dict[str, Any]:
        body: dict[str, Any] = self.server.request("GET", self.path).body
        return body

    @property
    def replicas(self) -> int:
        return int(self.read()["spec"]["replicas"])


def test_replicas_stay_when_an_autoscaler_is_switched_on(
    api_server: ControlPlane, namespace: str, make: Make, inputs: Inputs, found: Found
) -> None:
    """Five stay five, at each further apply too; what the autoscaler sets then is never touched."""
    live = Deployments(api_server, namespace)
    fixed, scaled = (
        found.one(build(make({"api": api}, namespace=namespace), inputs), "Deployment", "docs-api")
        for api in ({"replicas": 5}, SCALED)
    )
    assert live.apply(fixed) == 201
    for _ in range(2):
        assert live.hand_over(scaled) == 200
        assert live.replicas == 5
    live.scale(7)
    after = leave_replicas(scaled, live.read())
    assert after == scaled
    assert live.apply(after) == 200
    assert live.replicas == 7


def test_without_that_they_would_fall_to_one(
    api_server: ControlPlane, namespace: str, make: Make, inputs: Inputs, found: Found
) -> None:
    """Why it is there: when an API server does otherwise, it can go."""
    live = Deployments(api_server, namespace)
    fixed, scaled = (
        found.one(build(make({"api": api}, namespace=namespace), inputs), "Deployment", "docs-api")
        for api in ({"replicas": 5}, SCALED)
    )
    live.apply(fixed)
    live.apply(scaled)
    assert live.replicas == 1


def test_a_change_in_between_is_a_conflict(
    api_server: ControlPlane, namespace: str, make: Make, inputs: Inputs, found: Found
) -> None:
    live = Deployments(api_server, namespace)
    fixed, scaled = (
        found.one(build(make({"api": api}, namespace=namespace), inputs), "Deployment", "docs-api")
        for api in ({"replicas": 5}, SCALED)
    )
    live.apply(fixed)
    stale = leave_replicas(scaled, live.read())
    live.scale(7)
    assert live.apply(stale) == 409
    assert live.replicas == 7


def test_a_new_one_is_left_to_its_autoscaler(make: Make, inputs: Inputs, found: Found) -> None:
    scaled = found.one(build(make({"api": SCALED}), inputs), "Deployment", "docs-api")
    assert leave_replicas(scaled, None) is scaled
    fixed = found.one(build(make({"api": {"replicas": 5}}), inputs), "Deployment", "docs-api")
    assert leave_replicas(fixed, fixed) is fixed
