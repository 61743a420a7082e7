"""Secrets that a spec refers to."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.references import SecretUse, secret_uses
from ragbase_operator.models.objects import RagBase

from .conftest import Make
from .found import Found


@pytest.mark.parametrize("source", ["everything"])
def test_all_that_are_named(ragbase: RagBase, source: str) -> None:
    assert secret_uses(ragbase.spec) == {
        SecretUse("llm", "token"),
        SecretUse("proxy", "url"),
        SecretUse("remote-reranker", "token"),
    }


@pytest.mark.parametrize("source", ["external"])
def test_those_of_what_others_run(ragbase: RagBase, source: str) -> None:
    assert secret_uses(ragbase.spec) == {
        SecretUse("managed-postgres", "uri"),
        SecretUse("models", "token"),
        SecretUse("own-keys", "admin"),
        SecretUse("own-keys", "probe"),
    }


def test_optional_ones_are_not_waited_for(make: Make) -> None:
    env = [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k", "optional": True}}}
    ]
    sources = [{"secretRef": {"name": "b", "optional": True}}, {"secretRef": {"name": "c"}}]
    spec = make({"workers": {"pod": {"env": env, "envFrom": sources}}}).spec
    assert secret_uses(spec) == {SecretUse("c", "")}


def test_a_pod_reads_no_secret_that_is_unknown(
    ragbase: RagBase, inputs: Inputs, children: list[dict[str, Any]], found: Found
) -> None:
    """Each key that a container reads is generated, or among those that are looked for."""
    made = {
        SecretUse(name, key)
        for name in found.names(children, "Secret")
        for key in found.secret(children, name)
    }
    known = made | secret_uses(ragbase.spec)
    for name, template in found.templates(children):
        for entry in template["spec"]["containers"][0].get("env", []):
            ref = entry.get("valueFrom", {}).get("secretKeyRef")
            assert ref is None or SecretUse(ref["name"], ref["key"]) in known, name


def test_building_twice_needs_no_secret_of_others(ragbase: RagBase, inputs: Inputs) -> None:
    """Their absence is a condition, not an error of the builders."""
    assert build(ragbase, inputs)
