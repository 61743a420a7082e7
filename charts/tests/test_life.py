"""Install, upgrade, roll back, test and uninstall, on a real control plane with a living operator.

There is no kubelet: the operator and the pods of hooks run here, each with the rights of its
service account; the pods of a stack are played.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster import ControlPlane
from e2e.helm import Helm, HelmError
from e2e.operator_kit.harness import STORAGE_CLASS

from .conftest import RESTRICTED
from .kubelet import run_pod
from .objects import CHARTS
from .release import Operator

RAGBASE = str(CHARTS / "ragbase")
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ragbases.ragbase.dev"


@pytest.fixture
def operator(client: Helm, server: ControlPlane, namespace: str, tmp_path: Path) -> Operator:
    server.request("POST", "/apis/storage.k8s.io/v1/storageclasses", STORAGE_CLASS)
    return Operator(client, server, namespace, tmp_path)


async def _uninstall(operator: Operator, **expected: Any) -> str:
    """``helm uninstall`` of the operator, with the hook's pod run; what the pod printed."""
    leaving = asyncio.create_task(operator.helm("uninstall", "operator", "--timeout", "300s"))
    pod = await operator.pod("operator-ragbase-operator-uninstall")
    said = await run_pod(operator.server, pod, operator.folder, told=expected.get("told", {}))
    await leaving
    return said


def _uids(operator: Operator, kind: str) -> dict[str, str]:
    return {
        each["metadata"]["name"]: each["metadata"]["uid"]
        for each in operator.harness.list(kind)
        if each["metadata"].get("deletionTimestamp") is None
    }


async def test_a_stack_lives_through_upgrade_rollback_and_uninstall(operator: Operator) -> None:
    await operator.install()
    async with operator.living():
        await operator.helm("install", "docs", RAGBASE)
        await operator.ready()
        claims = _uids(operator, "PersistentVolumeClaim")
        assert "data-docs-postgres-0" in claims
        secrets = _uids(operator, "Secret")

        # An upgrade of the release is a change of the spec, and reaches the workload.
        await operator.helm("upgrade", "docs", RAGBASE, "--set=spec.api.replicas=3")
        await operator.until(lambda: _replicas(operator) == 3, kubelet=True)
        await operator.helm("rollback", "docs", "1")
        await operator.until(lambda: _replicas(operator) == 1, kubelet=True)
        assert (operator.harness.get("RagBase", "docs") or {})["spec"]["api"]["replicas"] == 1

        # What somebody else has set is not overwritten unasked.
        operator.harness.patch("RagBase", "docs", {"spec": {"api": {"replicas": 2}}})
        with pytest.raises(HelmError, match=r"conflict.*spec\.api\.replicas"):
            await operator.helm("upgrade", "docs", RAGBASE, "--set=spec.api.replicas=4")
        forced = ("--set=spec.api.replicas=4", "--force-conflicts")
        await operator.helm("upgrade", "docs", RAGBASE, *forced)
        assert (operator.harness.get("RagBase", "docs") or {})["spec"]["api"]["replicas"] == 4

        # Uninstalled, the stack goes; the data stay, and are found again.
        await operator.helm("uninstall", "docs")
        await operator.until(lambda: operator.harness.get("RagBase", "docs") is None)
        await operator.until(lambda: operator.harness.list("Deployment")[1:] == [])
        assert _uids(operator, "PersistentVolumeClaim") == claims
        kept = {name for name in secrets if name.startswith("docs-")}
        assert {name: _uids(operator, "Secret").get(name) for name in kept} == {
            name: secrets[name] for name in kept
        }
        await operator.helm("install", "docs", RAGBASE, "--set=spec.deletionPolicy=Delete")
        await operator.ready()
        assert _uids(operator, "PersistentVolumeClaim") == claims

        # By the policy Delete nothing is left.
        await operator.helm("uninstall", "docs")
        await operator.until(lambda: operator.harness.get("RagBase", "docs") is None)
        await operator.until(lambda: not _names(operator, "Secret", "docs-"))
        await operator.until(lambda: not _live_claims(operator))
        await _uninstall(operator)


def _replicas(operator: Operator) -> Any:
    return (operator.harness.get("Deployment", "docs-api") or {})["spec"].get("replicas")


def _names(operator: Operator, kind: str, prefix: str) -> list[str]:
    return [name for name in _uids(operator, kind) if name.startswith(prefix)]


def _live_claims(operator: Operator) -> list[str]:
    return list(_uids(operator, "PersistentVolumeClaim"))


async def test_uninstall_with_a_live_resource_ends_clean_and_the_next_install_is_well(
    operator: Operator,
) -> None:
    """B123: custom resources go while the operator lives; data stay; nothing hangs."""
    await operator.install()
    async with operator.living():
        await operator.helm("install", "docs", RAGBASE)
        await operator.ready()
        claims = _uids(operator, "PersistentVolumeClaim")
        said = await _uninstall(operator)
    assert f"deleting RagBase {operator.namespace}/docs" in said
    assert operator.harness.list("RagBase") == []
    assert operator.server.request("GET", CRD).status == 200, "CRDs are kept"
    assert _uids(operator, "PersistentVolumeClaim") == claims
    left = [
        name
        for kind in ("Deployment", "Job")
        for name in _names(operator, kind, "operator-ragbase-operator")
    ]
    assert left == []

    await operator.helm("uninstall", "docs")  # its release is still known, its object is gone
    await operator.install()
    async with operator.living():
        await operator.helm("install", "docs", RAGBASE)
        await operator.ready()
        assert _uids(operator, "PersistentVolumeClaim") == claims
        await _uninstall(operator)


async def test_uninstall_without_a_living_operator_fails_and_says_why(operator: Operator) -> None:
    """B123: rather than leave resources that hang."""
    await operator.install("--set=uninstall.timeoutSeconds=150")
    async with operator.living():
        await operator.helm("install", "docs", RAGBASE)
        await operator.ready()
    leaving = asyncio.create_task(operator.helm("uninstall", "operator", "--timeout", "300s"))
    for _ in range(2):  # the Job tries once more
        pod = await operator.pod("operator-ragbase-operator-uninstall")
        said = await run_pod(operator.server, pod, operator.folder, told={"150": "1"})
        assert f"RagBase {operator.namespace}/docs is still there: does the operator run?" in said
    with pytest.raises(HelmError):
        await leaving
    assert operator.deployment()["kind"] == "Deployment", "the operator is still installed"

    async with operator.living():  # it comes back, and lets go of what was deleted
        await operator.until(lambda: operator.harness.get("RagBase", "docs") is None)
        await _uninstall(operator)


async def test_helm_test_asks_the_living_operator(operator: Operator) -> None:
    await operator.install()
    async with operator.living():
        await operator.until(lambda: operator.harness.log.exists() and _told(operator))
        _, port = operator.harness.ports()
        testing = asyncio.create_task(operator.helm("test", "operator", "--timeout", "300s"))
        pod = await operator.pod("operator-ragbase-operator-test")
        url = pod["spec"]["containers"][0]["args"][1]
        here = {url: f"http://127.0.0.1:{port}/metrics"}
        said = await run_pod(operator.server, pod, operator.folder, told=here)
        assert "the operator is well" in said
        assert "Succeeded" in await testing
        await _uninstall(operator)


def _told(operator: Operator) -> bool:
    return "operator_started" in operator.harness.log.read_text()


async def test_an_operator_of_another_namespace_needs_no_right_beyond_it(
    client: Helm, server: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    """Not even in its own: the heartbeat's Lease is where it looks."""
    server.request("POST", "/apis/storage.k8s.io/v1/storageclasses", STORAGE_CLASS)
    stacks = server.create_namespace(RESTRICTED)
    operator = Operator(client, server, namespace, tmp_path, stacks)
    watched = f"watch.namespaces={json.dumps([stacks])}"
    await operator.install("--set-json", watched, "--set", "rbac.aggregate=false")
    async with operator.living():
        await operator.stack("install", "docs", RAGBASE)
        await operator.ready()
        leases = f"/apis/coordination.k8s.io/v1/namespaces/{stacks}/leases"
        assert server.request("GET", f"{leases}/ragbase-operator-heartbeat").status == 200
        assert "forbidden" not in operator.harness.log.read_text().lower()
        assert f"deleting RagBase {stacks}/docs" in await _uninstall(operator)
    server.delete_namespace(stacks)


async def test_an_upgrade_of_the_operator_rolls_its_one_pod(operator: Operator) -> None:
    await operator.install()
    before = operator.deployment()["spec"]
    chart = str(CHARTS / "ragbase-operator")
    await operator.helm("upgrade", "operator", chart, "--set=settings.logLevel=debug")
    after = operator.deployment()["spec"]
    assert before["template"] != after["template"]
    assert after["replicas"] == 1
    assert after["strategy"] == {"type": "Recreate"}
    await operator.helm("rollback", "operator", "1")
    assert operator.deployment()["spec"]["template"] == before["template"]
    async with operator.living():
        await _uninstall(operator)
