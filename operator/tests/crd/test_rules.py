"""Each CEL rule on a real API server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ragbase_operator.crd.schema import structural
from ragbase_operator.models.kinds import KINDS, RAGBASE

from .cases import CASES, Case
from .server import Server, faults, manifest


def rules(schema: dict[str, Any], path: str) -> Iterator[tuple[str, str]]:
    """Where each rule is, and its message."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path, rule["message"]
    if "items" in schema:
        yield from rules(schema["items"], f"{path}[0]")
    for name, each in schema.get("properties", {}).items():
        yield from rules(each, f"{path}.{name}")


def test_every_rule_has_a_case() -> None:
    for kind in KINDS:
        known = {(case.where, case.message) for case in CASES if case.kind is kind}
        for where, message in rules(structural(kind.spec), "spec"):
            matching = [each for each in known if each[0] == where and message.startswith(each[1])]
            assert len(matching) == 1, (kind.name, where, message)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_rule(server: Server, case: Case) -> None:
    if case.old is None:
        accepted = server.create(case.kind, manifest(case.kind, case.accepted), dry=True)
        rejected = server.create(case.kind, manifest(case.kind, case.rejected), dry=True)
    else:
        old = server.made(case.kind, case.old)
        accepted = server.replace(case.kind, {**old, "spec": case.accepted})
        rejected = server.replace(case.kind, {**old, "spec": case.rejected})
    assert accepted.status < 300, accepted.body
    assert rejected.status == 422, rejected.body
    (fault,) = faults(rejected)
    assert fault.field == case.where
    assert case.message in fault.message


@pytest.mark.parametrize("left_out", ["spec", "database", "storage"])
def test_no_rule_about_a_change_is_got_round_by_leaving_the_object_out(
    server: Server, left_out: str
) -> None:
    """B115: the size of a volume never shrinks, however its spec is written."""
    old = server.made(RAGBASE, {"database": {"storage": {"size": "30Gi"}}})
    new = {
        "spec": {key: value for key, value in old.items() if key != "spec"},
        "database": {**old, "spec": {}},
        "storage": {**old, "spec": {"database": {}}},
    }[left_out]
    (fault,) = faults(server.replace(RAGBASE, new))
    assert fault.field == "spec.database.storage"
    assert "can only grow" in fault.message


def test_messages_say_what_to_do() -> None:
    """Each rule names what to change, so each has at least a few words beside the field's name."""
    for kind in KINDS:
        for where, message in rules(structural(kind.spec), "spec"):
            assert len(message.split()) >= 4, (where, message)
            assert not message.endswith("."), (where, message)


@pytest.mark.parametrize(
    ("part", "volume"),
    [
        ("localrag", {"storage": {"size": "1Gi", "storageClassName": "a"}}),
        ("graph", {"memgraph": {"storage": {"size": "1Gi", "storageClassName": "a"}}}),
    ],
)
def test_defaults_bind_nobody_who_switches_a_volume_on(
    server: Server, part: str, volume: dict[str, Any]
) -> None:
    """The default of its size is in the object from the beginning; no volume is."""
    for before in ({}, {part: {"enabled": False}}):
        old = server.made(RAGBASE, before)
        on = {**old, "spec": {part: {"enabled": True, **volume}}}
        assert server.replace(RAGBASE, on).status == 200
    there = server.made(RAGBASE, {part: {"enabled": True}})
    smaller = {**there, "spec": {part: {"enabled": True, **volume}}}
    assert server.replace(RAGBASE, smaller).status == 422
