"""A real API server takes every child as it is, and admits its pods where only restricted ones may be."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from e2e.cluster import ControlPlane
from ragbase_operator.builders.build import build
from ragbase_operator.builders.images import default_images
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.kinds import FRESH
from ragbase_operator.builders.labels import FIELD_MANAGER
from ragbase_operator.models.objects import RagBase

from .conftest import read, sources
from .found import Found

RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}
NAMED = {
    "/apis/scheduling.k8s.io/v1/priorityclasses/high": {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "high"},
        "value": 1,
    },
    "/apis/node.k8s.io/v1/runtimeclasses/gpu": {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "gpu"},
        "handler": "gpu",
    },
}
"""What files refer to by name; admission looks it up."""
Children = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def restricted(api_server: ControlPlane) -> Iterator[str]:
    """A namespace that enforces restricted pods."""
    name = api_server.create_namespace(RESTRICTED)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    path = f"/api/v1/namespaces/{name}/serviceaccounts/default"
    for where, manifest in {**NAMED, path: account}.items():
        _apply(api_server, where, manifest)
    yield name
    api_server.delete_namespace(name)


@pytest.fixture(scope="module")
def built(restricted: str) -> Children:
    """Children of all files, in that namespace, without foreign kinds."""
    found: Children = {}
    for name, path in sources().items():
        given = read(path)
        ragbase = RagBase(given.name, restricted, given.uid, 1, given.spec)
        found[name] = build(ragbase, _inputs())
    return found


def test_every_child_is_valid(api_server: ControlPlane, built: Children) -> None:
    """By server-side apply, with no unknown field and no warning."""
    refused = {}
    for source, children in built.items():
        for child in children:
            answer = _apply(api_server, _path(child), child, "&dryRun=All&fieldValidation=Strict")
            if answer.status not in (HTTPStatus.OK, HTTPStatus.CREATED) or answer.warnings:
                name = f"{source} {child['kind']} {child['metadata']['name']}"
                refused[name] = answer.body.get("message", answer.warnings)
    assert refused == {}


def test_every_pod_is_admitted(
    api_server: ControlPlane, built: Children, restricted: str, found: Found
) -> None:
    refused = {}
    for source, children in built.items():
        for name, template in found.templates(children):
            answer = _admit(api_server, restricted, template)
            if answer.status != HTTPStatus.CREATED or answer.warnings:
                refused[f"{source} {name}"] = answer.body.get("message", answer.warnings)
    assert refused == {}


def test_a_spoilt_pod_is_refused(
    api_server: ControlPlane, built: Children, restricted: str, found: Found
) -> None:
    """So admission looked at the others."""
    for _, template in found.templates(built["sample-minimal"]):
        spoilt = copy.deepcopy(template)
        del spoilt["spec"]["containers"][0]["securityContext"]["capabilities"]
        answer = _admit(api_server, restricted, spoilt)
        assert answer.status == HTTPStatus.FORBIDDEN
        assert "restricted" in answer.body["message"]


def _inputs() -> Inputs:
    images = default_images("registry.example.com/ragbase", "1.2.3")
    return Inputs(version="1.2.3", images=images, fresh=dict.fromkeys(FRESH, "0" * 64))


def _path(child: dict[str, Any]) -> str:
    group = child["apiVersion"]
    root = f"/api/{group}" if "/" not in group else f"/apis/{group}"
    kind = child["kind"].lower()
    plural = kind[:-1] + "ies" if kind.endswith("y") else kind + ("es" if kind[-1] == "s" else "s")
    metadata = child["metadata"]
    return f"{root}/namespaces/{metadata['namespace']}/{plural}/{metadata['name']}"


def _apply(server: ControlPlane, path: str, manifest: dict[str, Any], more: str = "") -> Any:
    return server.request(
        "PATCH",
        f"{path}?fieldManager={FIELD_MANAGER}&force=true{more}",
        manifest,
        content_type="application/apply-patch+yaml",
    )


def _admit(server: ControlPlane, namespace: str, template: dict[str, Any]) -> Any:
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "admitted"}
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All&fieldValidation=Strict"
    return server.request("POST", path, pod)
