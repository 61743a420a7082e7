"""A backup, and its restore into another RagBase."""

from __future__ import annotations

from e2e.scenarios.caller import Caller, start_caller
from e2e.scenarios.cluster import Cluster
from e2e.scenarios.documents import DOCUMENTS, QUESTIONS
from e2e.scenarios.kube import Kube, Manifest, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import claim, ragbase, ready, task, wait_gone

TASK_S = 300.0
STOPPED = {"replicas": 0}


def complete(kube: Kube, kind: str, name: str, namespace: str) -> Manifest:
    """Wait until a task is done; its status."""

    def done() -> Manifest | None:
        assert kube.condition(kind, name, namespace, "Failed").get("status") != "True", kube.story(
            namespace, kind, name
        )
        if kube.condition(kind, name, namespace, "Complete").get("status") != "True":
            return None
        status: Manifest = (kube.get(kind, name, namespace) or {})["status"]
        return status

    found: Manifest = wait_for(done, TASK_S, lambda: kube.story(namespace, kind, name))
    return found


def test_a_backup_is_restored_into_another_ragbase(
    caller: Caller, cluster: Cluster, operator: Release, namespace: str, docs: str
) -> None:
    kube = cluster.kube
    kube.apply(claim("backups", namespace))
    kube.apply(task("RagBaseBackup", "first", namespace, ragbase=docs, claimName="backups"))
    backup = complete(kube, "RagBaseBackup", "first", namespace)
    assert backup["documents"] == len(DOCUMENTS)
    assert backup["bytes"] > 0

    kube.apply(ragbase(cluster, "copy", namespace, api=STOPPED, workers=STOPPED))
    wait_for(
        lambda: kube.condition("RagBase", "copy", namespace, "SchemaReady").get("status") == "True",
        TASK_S,
        lambda: kube.story(namespace, "RagBase", "copy"),
    )
    kube.apply(task("RagBaseRestore", "first", namespace, ragbase="copy", backup="first"))
    restore = complete(kube, "RagBaseRestore", "first", namespace)
    assert restore["documents"] == len(DOCUMENTS)
    assert restore["takenAt"] == backup["takenAt"]

    kube.patch("RagBase", "copy", namespace, {"spec": {"api": {"replicas": 1}}})
    wait_for(
        lambda: kube.condition("RagBase", "copy", namespace, "ApiReady")["reason"] == "Available",
        TASK_S,
        lambda: kube.story(namespace, "RagBase", "copy"),
    )
    ready(kube, "copy", namespace)
    other = start_caller(kube, "copy", namespace, operator.api_image)
    for expected, (semantic, keyword) in QUESTIONS.items():
        assert other.search(semantic, "semantic")[0] == expected
        assert other.search(keyword, "keyword")[0] == expected
    kube.delete("Pod", other.pod, namespace, grace_s=0)
    for kind, name in (("RagBaseRestore", "first"), ("RagBaseBackup", "first")):
        kube.delete(kind, name, namespace)
        wait_gone(kube, kind, name, namespace)
    kube.patch("RagBase", "copy", namespace, {"spec": {"deletionPolicy": "Delete"}})
    kube.delete("RagBase", "copy", namespace)
    wait_gone(kube, "RagBase", "copy", namespace)
