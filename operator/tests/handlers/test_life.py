"""The life of a RagBase on a real API server, with the operator as a process."""

from __future__ import annotations

import asyncio
import signal
import time

from e2e.cluster import ControlPlane
from e2e.operator_kit import Harness
from e2e.operator_kit.patience import patience

GRAPH = {"graph": {"enabled": True}}
CHILDREN = ("Deployment", "StatefulSet", "Job", "Service", "ConfigMap", "Secret")


async def test_all_children_are_applied_within_three_seconds(stage: Harness) -> None:
    await stage.start()
    await stage.create(name="warm")
    await stage.until(lambda: stage.condition(name="warm"))
    await stage.create(GRAPH)
    took = await stage.until(lambda: stage.condition())
    mine = [
        each["metadata"]["name"]
        for kind in CHILDREN
        for each in stage.list(kind)
        if each["metadata"]["name"].startswith("kb-")
    ]
    assert {"kb-api", "kb-worker", "kb-embedding", "kb-postgres", "kb-memgraph"} <= set(mine)
    assert took <= patience(3)
    await stage.until_ready()


async def test_a_steady_state_writes_nothing_but_the_lease(stage: Harness) -> None:
    await stage.start(RAGBASE_OPERATOR_RESYNC_SECONDS="5", RAGBASE_OPERATOR_HEARTBEAT_SECONDS="2")
    await stage.create(GRAPH)
    await stage.until_ready()
    await stage.until(lambda: not _recent_writes(stage, 2.5), 20)
    before = len(stage.server.writes("admin"))
    await asyncio.sleep(14)
    writes = [w for w in stage.server.writes("admin")[before:] if w.namespace == stage.namespace]
    assert {write.resource for write in writes} == {"leases"}, writes


async def test_edited_and_deleted_children_are_restored(stage: Harness) -> None:
    """B107."""
    await stage.start()
    await stage.create()
    await stage.until_ready()
    stage.patch("Deployment", "kb-api", {"spec": {"replicas": 0}})
    stage.delete("Service", "kb-api")
    stage.delete("StatefulSet", "kb-postgres")
    stage.delete("ConfigMap", "kb-config")

    def restored() -> bool:
        api = stage.get("Deployment", "kb-api")
        names = (("Service", "kb-api"), ("StatefulSet", "kb-postgres"), ("ConfigMap", "kb-config"))
        return bool(api and api["spec"]["replicas"] == 1 and all(stage.get(*n) for n in names))

    assert await stage.until(restored) <= patience(10)


async def test_another_managers_fields_stay_and_ours_win(stage: Harness) -> None:
    await stage.start()
    await stage.create()
    await stage.until_ready()
    change = {
        "metadata": {"annotations": {"example.com/theirs": "kept"}},
        "spec": {"replicas": 7, "revisionHistoryLimit": 3},
    }
    stage.patch("Deployment", "kb-api", change)
    await stage.until(lambda: (stage.get("Deployment", "kb-api") or {})["spec"]["replicas"] == 1)
    api = stage.get("Deployment", "kb-api")
    assert api is not None
    assert api["metadata"]["annotations"]["example.com/theirs"] == "kept"


async def test_retained_data_are_found_again(stage: Harness) -> None:
    await stage.start()
    await stage.create(GRAPH)
    await stage.until_ready()
    secret, claims = stage.get("Secret", "kb-database"), stage.list("PersistentVolumeClaim")
    assert secret
    assert claims
    stage.delete("RagBase", "kb")
    await stage.until(lambda: stage.get("RagBase", "kb") is None, 15)
    await stage.until(lambda: not stage.list("Deployment"), 30)
    kept = {each["metadata"]["uid"] for each in stage.list("PersistentVolumeClaim")}
    assert kept == {each["metadata"]["uid"] for each in claims}
    await stage.create(GRAPH)
    await stage.until_ready()
    again = stage.get("Secret", "kb-database")
    ragbase = stage.get("RagBase", "kb")
    assert again
    assert ragbase
    assert again["data"] == secret["data"]
    owners = {
        each["metadata"]["labels"]["ragbase.dev/owner"]
        for each in (again, *stage.list("PersistentVolumeClaim"))
    }
    assert owners == {ragbase["metadata"]["uid"]}
    assert {each["metadata"]["uid"] for each in stage.list("PersistentVolumeClaim")} == kept


async def test_delete_takes_volumes_and_secrets_along(stage: Harness) -> None:
    await stage.start()
    await stage.create({"deletionPolicy": "Delete"})
    await stage.until_ready()
    stage.delete("RagBase", "kb")
    await stage.until(lambda: stage.get("RagBase", "kb") is None, 15)

    def gone() -> bool:
        claims = [
            c
            for c in stage.list("PersistentVolumeClaim")
            if not c["metadata"].get("deletionTimestamp")
        ]
        return not claims and not stage.list("Secret") and not stage.list("Deployment")

    await stage.until(gone, 30)


async def test_deleting_ends_while_creation_keeps_failing(stage: Harness) -> None:
    """B101."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none"},
        "spec": {"hard": {"services": "0"}},
    }
    stage.server.request("POST", f"/api/v1/namespaces/{stage.namespace}/resourcequotas", quota)
    await stage.start()
    missing = {"database": {"mode": "external", "external": {"secretRef": {"name": "absent"}}}}
    await stage.create(missing)
    await stage.until(lambda: stage.condition().get("reason") == "SecretMissing")
    stage.delete("RagBase", "kb")
    assert await stage.until(lambda: stage.get("RagBase", "kb") is None) <= patience(8)
    await stage.until(lambda: not stage.list("Deployment") and not stage.list("ConfigMap")[1:], 30)


async def test_what_happens_without_an_operator_is_caught_up(stage: Harness) -> None:
    """B113."""
    await stage.start()
    for name in ("kb", "gone"):
        await stage.create({}, name)
    await stage.until_ready("kb")
    await stage.until_ready("gone")
    assert await stage.stop() == 0
    stage.write("RagBase", "kb", {"spec": {"api": {"replicas": 3}}})
    stage.delete("RagBase", "gone")
    stage.delete("Service", "kb-api")
    await stage.start()
    await stage.until(lambda: stage.get("RagBase", "gone") is None)
    await stage.until(lambda: stage.get("Service", "kb-api"))
    await stage.until(lambda: (stage.get("Deployment", "kb-api") or {})["spec"]["replicas"] == 3)


async def test_retention_survives_a_kill_during_deletion(stage: Harness) -> None:
    await stage.start()
    await stage.create()
    await stage.until_ready()
    await stage.stop(signal.SIGKILL)
    stage.delete("RagBase", "kb")
    stage.delete("Deployment", "kb-worker")
    await stage.start()
    await stage.until(lambda: stage.get("RagBase", "kb") is None)
    await stage.until(lambda: not stage.list("Deployment"), 30)
    assert stage.list("PersistentVolumeClaim")
    assert stage.get("Secret", "kb-database")


async def test_a_deleted_namespace_ends(stage: Harness, controllers: ControlPlane) -> None:
    await stage.start()
    await stage.create(GRAPH)
    await stage.until_ready()
    stage.server.delete_namespace(stage.namespace)
    await stage.until(lambda: stage.get("RagBase", "kb") is None, 30)


async def test_health_and_metrics_tell_of_the_heartbeat(stage: Harness) -> None:
    await stage.start(RAGBASE_OPERATOR_HEARTBEAT_SECONDS="1")
    await stage.create()
    await stage.until_ready()
    health, metrics = stage.ports()
    assert "heartbeat seen" in stage.fetch(health, "/healthz")
    line = 'ragbase_operator_objects{condition="Ready",kind="RagBase",status="True"} 1.0'
    await stage.until(lambda: line in stage.fetch(metrics, "/metrics"))
    text = stage.fetch(metrics, "/metrics")
    age = next(line for line in text.splitlines() if line.startswith("ragbase_operator_watch_age"))
    assert float(age.split()[1]) < 3


async def test_a_rotated_secret_rolls_the_pods(stage: Harness) -> None:
    """B111."""
    await stage.start()
    await stage.create()
    await stage.until_ready()

    def hash_of() -> str:
        api = stage.get("Deployment", "kb-api") or {}
        return str(api["spec"]["template"]["metadata"]["annotations"]["ragbase.dev/config-hash"])

    before = hash_of()
    stage.delete("Secret", "kb-api-key")
    await stage.until(lambda: stage.get("Secret", "kb-api-key"))
    await stage.until(lambda: hash_of() != before)


async def test_a_volume_grows_or_says_why_not(stage: Harness) -> None:
    """B115."""
    await stage.start()
    await stage.create({"database": {"storage": {"size": "10Gi"}}})
    await stage.until_ready()
    stage.write("RagBase", "kb", {"spec": {"database": {"storage": {"size": "20Gi"}}}})
    await stage.until(
        lambda: stage.condition("DatabaseReady").get("reason") == "VolumeNotExpandable"
    )
    assert "allowVolumeExpansion" in stage.condition("DatabaseReady")["message"]
    answer = stage.patch("RagBase", "kb", {"spec": {"database": {"storage": {"size": "1Gi"}}}})
    assert answer == 422


def _recent_writes(stage: Harness, seconds: float) -> bool:
    now = time.monotonic()
    count = len(
        [
            w
            for w in stage.server.writes("admin")
            if w.namespace == stage.namespace and w.resource != "leases"
        ]
    )
    last = getattr(stage, "_last", (0, now))
    if last[0] != count:
        stage._last = (count, now)  # type: ignore[attr-defined]
        return True
    return now - last[1] < seconds
