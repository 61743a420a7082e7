"""What holds for all children of every RagBase."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.kinds import CHILD_KINDS, DATA_KINDS, FOREIGN_KINDS, kind_of
from ragbase_operator.builders.labels import OWNER_LABEL, component_of
from ragbase_operator.models.objects import RagBase

from .conftest import UID, Make
from .found import Found

SELECTED = {"app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component"}


def test_the_same_gives_the_same_bytes(ragbase: RagBase, inputs: Inputs, found: Found) -> None:
    """Neither the order of what is told nor an earlier call changes anything."""
    other = dataclasses.replace(
        inputs,
        fresh=dict(reversed(inputs.fresh.items())),
        kinds=frozenset(sorted(inputs.kinds, reverse=True)),
    )
    first = build(ragbase, inputs)
    assert repr(first) == repr(build(ragbase, other))


def test_nobody_shares_a_part(children: list[dict[str, Any]]) -> None:
    """Whoever changes one child changes no other."""
    seen: set[int] = set()

    def walk(value: object) -> None:
        if isinstance(value, dict | list) and value:
            assert id(value) not in seen
            seen.add(id(value))
            for part in value.values() if isinstance(value, dict) else value:
                walk(part)

    walk(children)


def test_kinds_are_known(children: list[dict[str, Any]]) -> None:
    """What is built is listed and pruned."""
    assert {kind_of(child) for child in children} <= {*CHILD_KINDS, *FOREIGN_KINDS}


def test_labels_and_owners(children: list[dict[str, Any]], ragbase: RagBase) -> None:
    """All have the owner's label; all go with it but data that is retained."""
    kept = ragbase.spec.deletion_policy == "Retain"
    for child in children:
        metadata = child["metadata"]
        assert metadata["namespace"] == ragbase.namespace
        assert metadata["labels"][OWNER_LABEL] == UID
        assert component_of(child)
        owned = [reference["uid"] for reference in metadata.get("ownerReferences", [])]
        assert owned == ([] if kept and child["kind"] in DATA_KINDS else [UID])


def test_selectors_never_change(children: list[dict[str, Any]]) -> None:
    """They hold neither owner nor version, and pods have what they ask for."""
    for child in children:
        if child["kind"] in {"Deployment", "StatefulSet"}:
            selector = child["spec"]["selector"]["matchLabels"]
            assert selector.keys() == SELECTED
            assert selector.items() <= child["spec"]["template"]["metadata"]["labels"].items()


def test_no_field_is_null_or_a_status(children: list[dict[str, Any]]) -> None:
    """A null in server-side apply would own, and remove, a field of another writer."""

    def walk(value: object) -> None:
        assert value is not None
        if isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                walk(part)

    walk(children)
    assert all("status" not in child for child in children)


def test_no_secret_outside_secrets(children: list[dict[str, Any]], found: Found) -> None:
    """Values are in Secrets only: not in settings, arguments or environments."""
    values = {
        value
        for child in children
        if child["kind"] == "Secret"
        for key, value in found.secret(children, child["metadata"]["name"]).items()
        if key not in {"url", "username"}
    }
    assert values
    rest = found.text([child for child in children if child["kind"] != "Secret"])
    assert not [value for value in values if value in rest]


def test_services_lead_to_ports_of_pods(children: list[dict[str, Any]], found: Found) -> None:
    """A target port is a named port of the pods that are selected."""
    for child in children:
        if child["kind"] != "Service":
            continue
        selector = child["spec"]["selector"].items()
        pods = [
            template
            for name, template in found.templates(children)
            if selector <= template["metadata"]["labels"].items()
        ]
        assert len(pods) == 1, child["metadata"]["name"]
        ports = {port["name"] for port in pods[0]["spec"]["containers"][0]["ports"]}
        assert {port["targetPort"] for port in child["spec"]["ports"]} <= ports


def test_foreign_kinds_only_where_they_are_known(make: Make, inputs: Inputs) -> None:
    """Without their CRDs there is no Cluster, no monitor, no rule; all else is there."""
    wished = make(
        {
            "database": {"mode": "cnpg"},
            "monitoring": {"serviceMonitor": True, "prometheusRule": True},
        }
    )
    foreign = {kind.kind for kind in FOREIGN_KINDS}
    assert foreign <= {child["kind"] for child in build(wished, inputs)}
    bare = dataclasses.replace(inputs, kinds=frozenset())
    assert not foreign & {child["kind"] for child in build(wished, bare)}


@pytest.mark.parametrize("source", ["everything"])
def test_another_version_changes_images_only(ragbase: RagBase, inputs: Inputs) -> None:
    """An operator that is upgraded changes what it must: the product's images."""
    newer = dataclasses.replace(
        inputs,
        version="1.2.4",
        images=dataclasses.replace(inputs.images, api="registry.example.com/ragbase-api:1.2.4"),
    )
    changed = {
        component_of(new)
        for old, new in zip(build(ragbase, inputs), build(ragbase, newer), strict=True)
        if old != new
    }
    assert changed == {"api", "worker", "localrag", "migrate", "backup"}
