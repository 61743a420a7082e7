"""The operator under a service account with exactly the rules of `ragbase_operator.rbac`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import ControlPlane
from e2e.operator_kit import Harness
from e2e.operator_kit.account import WATCHED_ACCOUNT, grant, make_account
from e2e.operator_kit.foreign import install_foreign_crds, remove_foreign_crds
from ragbase_operator.rbac.rules import rules

INPUTS = Path(__file__).parents[1] / "builders" / "inputs"
RULES = rules(namespaced=True)
Right = tuple[str, str, str]
"""API group, resource, verb."""


@pytest.fixture(scope="module")
def foreign(server: ControlPlane) -> Iterator[None]:
    """The cluster knows the kinds of other operators."""
    install_foreign_crds(server)
    yield
    remove_foreign_crds(server)


async def start(stage: Harness, folder: Path) -> None:
    kubeconfig = make_account(stage.server, folder)
    await stage.start(KUBECONFIG=str(kubeconfig), RAGBASE_OPERATOR_HEARTBEAT_SECONDS="1")


def requests(stage: Harness) -> list[Any]:
    """All of the account in the namespace, with their answers."""
    found = stage.server.requests(WATCHED_ACCOUNT)
    return [each for each in found if each.namespace == stage.namespace]


def spec(name: str) -> dict[str, Any]:
    """The spec of an input file, with a storage class that is there and data that go along."""
    found: dict[str, Any] = yaml.safe_load((INPUTS / f"{name}.yaml").read_text())["spec"]
    return {**found, "deletionPolicy": "Delete"}


@pytest.mark.usefixtures("foreign")
async def test_its_rules_suffice_and_each_right_is_used(stage: Harness, tmp_path: Path) -> None:
    """The whole life of all kinds: nothing is refused, and no right is granted for nothing."""
    grant(stage.server, stage.namespace, RULES)
    await start(stage, tmp_path)
    await stage.create({}, "kb")
    await stage.create(spec("everything"), "all")
    await stage.create(spec("cnpg"), "cnpg")
    await stage.until_ready("kb", 60)
    ours = ("RagBaseBackup", "RagBaseRestore", "RagBaseBenchmark")
    stage.write("RagBaseBackup", "one", {"spec": {"ragbase": "kb", "claimName": "shelf"}})
    stage.write("RagBaseRestore", "one", {"spec": {"ragbase": "kb", "claimName": "shelf"}})
    stage.write("RagBaseBenchmark", "one", {"spec": {"ragbase": "kb"}})
    for kind in ours:
        await stage.until(lambda kind=kind: stage.condition("Complete", "one", kind), 30)
        stage.delete(kind, "one")
    for name in ("all", "cnpg", "kb"):
        await stage.until(lambda name=name: stage.condition(name=name), 30)
        stage.delete("RagBase", name)
        await stage.until(lambda name=name: stage.get("RagBase", name) is None, 30)
    assert [each for each in requests(stage) if each.code == 403] == []
    unused = granted() - used(stage) - {each for each in granted() if each[2] == "update"}
    assert unused == set()


@pytest.mark.usefixtures("foreign")
async def test_without_any_one_rule_it_is_refused(stage: Harness, tmp_path: Path) -> None:
    grant(stage.server, stage.namespace, RULES)
    await start(stage, tmp_path)
    await stage.create({})
    await stage.until(lambda: stage.condition(), 30)
    for number, rule in enumerate(RULES, start=2):
        before = refusals(stage)
        grant(stage.server, stage.namespace, [each for each in RULES if each is not rule])
        stage.write("RagBase", "kb", {"spec": {"api": {"replicas": number}}})
        stage.delete("Service", "kb-api")
        await stage.until(lambda before=before: refusals(stage) > before, 20)
        grant(stage.server, stage.namespace, RULES)
        await stage.until(lambda number=number: is_restored(stage, number), 40)


def is_restored(stage: Harness, replicas: int) -> bool:
    api = stage.get("Deployment", "kb-api") or {}
    return bool(api and api["spec"]["replicas"] == replicas and stage.get("Service", "kb-api"))


def refusals(stage: Harness) -> int:
    """So many requests were refused, or were not even made, as the log says."""
    return sum(1 for each in requests(stage) if each.code == 403)


def granted() -> set[Right]:
    return {
        (group, resource, verb)
        for rule in RULES
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def used(stage: Harness) -> set[Right]:
    """Rights that a request needed that was not refused. An apply that made its object (201)
    needed `create` as well as `patch`."""
    found = set()
    for each in requests(stage):
        if each.code < 400:
            found.add((each.group, each.resource, each.verb))
        if (each.verb, each.code) == ("patch", 201):
            found.add((each.group, each.resource, "create"))
    return found
