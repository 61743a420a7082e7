"""Each bound of a schema on a real API server: a value at it is accepted, one beyond it is not."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from ragbase_operator.crd.schema import structural
from ragbase_operator.models.kinds import KINDS, RAGBASE, Kind
from ragbase_operator.models.manifest import Manifest

from .bounds import Bound, bounds
from .server import Server, faults, manifest

ALL = [
    pytest.param(kind, bound, id=f"{kind.name}-{bound}")
    for kind in KINDS
    for part, model in (("spec", kind.spec), ("status", kind.status))
    for bound in bounds(structural(model), part)
]
Spec = dict[str, Any]


def external(spec: Spec) -> None:
    spec["database"]["mode"] = "external"


def partner(field: str) -> Callable[[Spec], None]:
    def add(spec: Spec) -> None:
        first = spec["rerankers"][0]
        first |= {"name": "first", "engine": "ragbase"}
        spec["rerankers"].append({"name": first[field], "engine": "ragbase"})

    return add


def put(part: str, **values: Any) -> Callable[[Spec], None]:
    def add(spec: Spec) -> None:
        target = spec
        for name in part.split("."):
            target = target[name]
        target.update(values)

    return add


COMPANIONS: dict[str, Callable[[Spec], None]] = {
    "spec.database.external": external,
    "spec.rerankers[].fallback": partner("fallback"),
    "spec.rerankers[].shareWith": partner("shareWith"),
    "spec.backup.schedule": put("backup", claimName="a"),
    "spec.modelCache.storageClassName": put("modelCache", size="1Gi"),
    "spec.api.autoscaling.minReplicas": put("api.autoscaling", maxReplicas=256),
    "spec.api.autoscaling.maxReplicas": put("api.autoscaling", minReplicas=1),
    "spec.localrag.replicas": put("localrag", existingClaim="a"),
    "spec.dataset.folder": put("dataset", claimName="a"),
}
"""What rules ask for beside a field, so that nothing but the bound decides."""


def completed(kind: Kind, path: str, spec: Spec) -> Spec:
    spec = copy.deepcopy(spec)
    if kind is not RAGBASE:
        spec.setdefault("ragbase", "docs")
    for prefix, add in COMPANIONS.items():
        if path.startswith(prefix):
            add(spec)
    return spec


@pytest.fixture(scope="module")
def existing(server: Server) -> dict[str, Manifest]:
    """An object of each kind, for its status."""
    spec = {RAGBASE.name: {}}
    return {
        kind.name: server.made(kind, spec.get(kind.name, {"ragbase": "docs"})) for kind in KINDS
    }


@pytest.mark.parametrize(("kind", "bound"), ALL)
def test_bound(server: Server, existing: dict[str, Manifest], kind: Kind, bound: Bound) -> None:
    if bound.path.startswith("status"):
        old = existing[kind.name]
        accepted, rejected = (
            server.replace(kind, {**old, "status": status}, part="status")
            for status in (bound.accepted, bound.rejected)
        )
    else:
        accepted, rejected = (
            server.create(kind, manifest(kind, spec), dry=True)
            for spec in (
                completed(kind, bound.path, bound.accepted),
                spoilt(kind, bound),
            )
        )
    assert accepted.status < 300, accepted.body
    assert rejected.status == 422, (rejected.status, rejected.body)
    where = re.escape(bound.path).replace(re.escape("[]"), r"\[\d+\]")
    assert any(re.match(where, fault.field) for fault in faults(rejected)), faults(rejected)


def spoilt(kind: Kind, bound: Bound) -> Spec:
    """The rejected spec, with what rules ask for where that can still be added."""
    if bound.keyword == "required":
        spec: Spec = copy.deepcopy(bound.rejected)
        if kind is not RAGBASE and bound.path != "spec.ragbase":
            spec.setdefault("ragbase", "docs")
        return spec
    return completed(kind, bound.path, bound.rejected)


def test_every_field_with_a_size_has_a_bound() -> None:
    """Without them the cost of CEL rules could not be told, and an object could be of any size."""
    bounded = {"string": "maxLength", "array": "maxItems"}
    for kind in KINDS:
        for model in (kind.spec, kind.status):
            for path, schema in fields(structural(model), ""):
                size = bounded.get(schema.get("type", ""))
                is_map = "additionalProperties" in schema
                is_open = "x-kubernetes-preserve-unknown-fields" in schema
                assert size is None or size in schema or "enum" in schema, (kind.name, path)
                assert "maxProperties" in schema or not (is_map or is_open), (kind.name, path)


def fields(schema: dict[str, Any], path: str) -> Any:
    yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from fields(each, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from fields(schema[inner], f"{path}[]")
