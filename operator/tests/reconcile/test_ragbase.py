"""A pass over a RagBase, on the fake cluster."""

from __future__ import annotations

import pytest

from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.reconcile.memory import Memory
from ragbase_operator.reconcile.probe import Counts, SearchAnswer

from .stage import Stage, ref

GRAPH = {"graph": {"enabled": True}}


async def test_first_pass_applies_everything_and_says_what_is_awaited() -> None:
    stage = Stage()
    await stage.run()
    kinds = {each["kind"] for each in stage.cluster._store.all()}
    assert {"Deployment", "StatefulSet", "Job", "Secret", "PersistentVolumeClaim"} <= kinds
    ready = stage.conditions()["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "Progressing")
    assert stage.probe.asked == []


async def test_ready_only_when_a_search_with_the_probe_key_answers() -> None:
    stage = Stage()
    stage.probe.answer = SearchAnswer(ok=False, message="no answer")
    await stage.settle()
    ready = stage.conditions()["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "SearchFailed")
    assert stage.probe.asked[0] is not None
    assert stage.probe.asked[0].startswith("rb_")
    stage.probe.answer = SearchAnswer(ok=True)
    await stage.run()
    assert stage.conditions()["Ready"]["status"] == "True"


async def test_steady_state_writes_nothing() -> None:
    stage = Stage(GRAPH)
    await stage.settle()
    await stage.run()
    stage.forget_writes()
    applied = stage.meter.total("applied")
    for _ in range(5):
        stage.later(120)
        await stage.run()
    assert stage.cluster.writes == []
    assert stage.meter.total("applied") == applied


async def test_an_operator_started_anew_changes_nothing() -> None:
    stage = Stage(GRAPH)
    await stage.settle()
    await stage.run()
    stage.forget_writes()
    stage.memory = Memory()
    await stage.run()
    assert stage.cluster.writes == []


async def test_edited_and_deleted_children_are_restored() -> None:
    """B107."""
    stage = Stage()
    await stage.settle()
    api = ref(stage.child("Deployment", "kb-api"))
    stage.cluster.edit(api, lambda each: each["spec"].update(replicas=0))
    await stage.cluster.delete(ref(stage.child("Service", "kb-api")))
    await stage.cluster.delete(ref(stage.child("ConfigMap", "kb-config")))
    await stage.run()
    assert stage.child("Deployment", "kb-api")["spec"]["replicas"] == 1
    assert stage.child("Service", "kb-api")
    assert stage.child("ConfigMap", "kb-config")


async def test_generated_secrets_are_never_overwritten() -> None:
    stage = Stage()
    await stage.settle()
    before = stage.child("Secret", "kb-database")["data"]
    stage.memory = Memory()
    await stage.run()
    assert stage.child("Secret", "kb-database")["data"] == before


async def test_a_deleted_secret_is_rotated_and_rolls_the_pods() -> None:
    """B111."""
    stage = Stage()
    await stage.settle()
    before = stage.child("Secret", "kb-api-key")["data"]
    template = stage.child("Deployment", "kb-api")["spec"]["template"]
    await stage.cluster.delete(ref(stage.child("Secret", "kb-api-key")))
    await stage.run()
    assert stage.child("Secret", "kb-api-key")["data"]["probe"] != before["probe"]
    await stage.run()
    assert stage.child("Deployment", "kb-api")["spec"]["template"] != template


async def test_what_is_no_longer_wished_is_pruned_but_data() -> None:
    stage = Stage(GRAPH)
    await stage.settle()
    stage.edit_spec(graph={"enabled": False})
    await stage.run()
    assert [
        each for each in stage.all("StatefulSet") if "memgraph" in each["metadata"]["name"]
    ] == []
    assert stage.child("Secret", "kb-memgraph")
    assert [each for each in stage.all("PersistentVolumeClaim") if "memgraph" in str(each)]
    assert stage.conditions()["GraphReady"]["reason"] == "Disabled"


async def test_a_memgraph_that_the_api_cannot_use_is_told_and_heals() -> None:
    """Its pod may be well, and the password wrong, or the network in the way."""
    stage = Stage(GRAPH)
    await stage.settle()
    assert stage.conditions()["GraphReady"]["status"] == "True"
    stage.probe.memgraph = "error: authentication failure"
    stage.later(31)
    await stage.run()
    for kind in ("GraphReady", "Ready"):
        condition = stage.conditions()[kind]
        assert (condition["status"], condition["reason"]) == ("False", "GraphUnreachable")
        assert "authentication failure" in condition["message"]
    stage.probe.memgraph = "connected"
    await stage.run()
    assert {stage.conditions()[kind]["status"] for kind in ("GraphReady", "Ready")} == {"True"}


async def test_a_graph_in_postgres_alone_asks_for_no_memgraph() -> None:
    stage = Stage({"graph": {"enabled": True, "memgraph": {"enabled": False}}})
    stage.probe.memgraph = "disabled"
    await stage.settle()
    graph = stage.conditions()["GraphReady"]
    assert (graph["status"], graph["reason"]) == ("True", "Available")
    assert stage.conditions()["Ready"]["status"] == "True"


async def test_the_error_of_one_child_stops_no_other_and_becomes_a_condition() -> None:
    """B103."""
    stage = Stage()
    stage.cluster.refuse(
        "Invalid",
        "spec.replicas: must not be negative",
        lambda m: m["kind"] == "Deployment" and "worker" in m["metadata"]["name"],
    )
    outcome = await stage.settle()
    workers = stage.conditions()["WorkersReady"]
    assert (workers["status"], workers["reason"]) == ("False", "ApplyRefused")
    assert "must not be negative" in workers["message"]
    assert stage.conditions()["ApiReady"]["status"] == "True"
    assert outcome.result == "failed"
    stage.cluster.accept()
    await stage.settle()
    assert stage.conditions()["Ready"]["status"] == "True"


async def test_a_quota_is_named() -> None:
    stage = Stage()
    stage.cluster.refuse(
        "Forbidden", "exceeded quota: small", lambda m: m["kind"] == "PersistentVolumeClaim"
    )
    await stage.run()
    assert stage.conditions()["DatabaseReady"]["reason"] == "QuotaExceeded"


async def test_outage_is_an_error_of_the_whole_pass() -> None:
    stage = Stage()
    await stage.create()
    body = stage.body
    stage.cluster.outage = True
    from ragbase_operator.reconcile.ragbase import reconcile

    with pytest.raises(ClusterError):
        await reconcile(body, stage.context, stage.memory)


async def test_paused_changes_nothing_and_still_tells() -> None:
    stage = Stage()
    await stage.settle()
    stage.edit_spec(paused=True, api={"replicas": 4})
    await stage.run()
    assert stage.child("Deployment", "kb-api")["spec"]["replicas"] == 1
    assert stage.conditions()["Paused"]["status"] == "True"
    stage.edit_spec(paused=False)
    await stage.run()
    assert stage.child("Deployment", "kb-api")["spec"]["replicas"] == 4


async def test_paused_by_annotation() -> None:
    stage = Stage()
    await stage.settle()
    stage.cluster.edit(
        stage.ref, lambda each: each["metadata"].update(annotations={"ragbase.dev/paused": "true"})
    )
    stage.edit_spec(api={"replicas": 4})
    await stage.run()
    assert stage.child("Deployment", "kb-api")["spec"]["replicas"] == 1


async def test_an_upgrade_waits_for_the_migration_and_for_nothing_else() -> None:
    stage = Stage()
    await stage.settle()
    stage.version = "0.2.0"
    await stage.run()
    assert _image(stage, "kb-api").endswith(":0.1.0")
    assert _image(stage, "kb-worker").endswith(":0.1.0")
    assert len(stage.all("Job")) == 1, "the old Job is pruned, the new one is there"
    assert stage.conditions()["SchemaReady"]["reason"] == "MigrationRunning"
    stage.play_kubelet()
    await stage.run()
    assert _image(stage, "kb-api").endswith(":0.2.0")
    assert _image(stage, "kb-worker").endswith(":0.2.0")


async def test_a_failed_migration_keeps_the_old_version_and_says_so() -> None:
    stage = Stage()
    await stage.settle()
    stage.version = "0.2.0"
    await stage.run()
    failed = {
        "conditions": [{"type": "Failed", "status": "True", "message": "BackoffLimitExceeded"}]
    }
    job = stage.all("Job")[0]
    stage.cluster.edit(ref(job), lambda each: each.update(status=failed))
    await stage.run()
    schema = stage.conditions()["SchemaReady"]
    assert (schema["status"], schema["reason"]) == ("False", "MigrationFailed")
    assert _image(stage, "kb-api").endswith(":0.1.0")


async def test_another_embedding_model_is_held_back() -> None:
    stage = Stage()
    await stage.settle()
    before = {str(ref(each)): each["spec"] for each in stage.all("Deployment")}
    stage.edit_spec(embeddings={"model": "BAAI/bge-m3"})
    await stage.run()
    assert {str(ref(each)): each["spec"] for each in stage.all("Deployment")} == before
    reindex = stage.conditions()["ReindexRequired"]
    assert (reindex["status"], reindex["reason"]) == ("True", "EmbeddingChanged")
    assert "BAAI/bge-m3" in reindex["message"]
    assert stage.conditions()["Ready"]["status"] == "True"
    stage.edit_spec(embeddings={})
    await stage.run()
    assert stage.conditions()["ReindexRequired"]["status"] == "False"


async def test_an_empty_index_may_change_its_model() -> None:
    stage = Stage()
    stage.probe.counts = Counts(0, 0, 0)
    await stage.settle()
    stage.edit_spec(embeddings={"model": "BAAI/bge-m3"})
    await stage.settle()
    assert "BAAI/bge-m3" in str(stage.child("Deployment", "kb-embedding")["spec"])
    assert stage.body["status"]["embedding"]["model"] == "BAAI/bge-m3"


async def test_an_index_of_unknown_size_keeps_its_model() -> None:
    stage = Stage()
    stage.probe.counts = None
    await stage.settle()
    stage.edit_spec(embeddings={"model": "BAAI/bge-m3"})
    await stage.run()
    assert stage.conditions()["ReindexRequired"]["status"] == "True"


async def test_transition_times_move_only_with_the_status() -> None:
    stage = Stage()
    await stage.settle()
    first = stage.conditions()["Ready"]["lastTransitionTime"]
    stage.later(500)
    stage.edit_spec(api={"replicas": 2})
    await stage.run()
    stage.play_kubelet()
    await stage.run()
    ready = stage.conditions()["Ready"]
    assert ready["lastTransitionTime"] == first
    assert ready["observedGeneration"] == stage.body["metadata"]["generation"]


async def test_all_of_the_status_is_there() -> None:
    """B105."""
    stage = Stage()
    await stage.settle()
    status = stage.body["status"]
    assert status["index"] == {"documents": 3, "chunks": 9, "entities": 0}
    assert status["endpoints"] == {
        "api": "http://kb-api.tests.svc:8000",
        "clientSecret": "kb-client",
    }
    assert status["images"]["api"] == "registry.example/ragbase/ragbase-api:0.1.0"
    assert status["replicas"] == 1
    assert "app.kubernetes.io/component=api" in status["selector"]


async def test_counts_are_asked_for_at_most_once_a_minute() -> None:
    stage = Stage()
    await stage.settle()
    stage.probe.counts = Counts(4, 12, 0)
    stage.later(30)
    await stage.run()
    assert stage.body["status"]["index"]["documents"] == 3
    stage.later(31)
    await stage.run()
    assert stage.body["status"]["index"]["documents"] == 4


async def test_events_are_posted_on_transitions_only() -> None:
    stage = Stage()
    await stage.settle()
    await stage.run()
    events = stage.all("Event")
    assert [(each["type"], each["reason"]) for each in events if "Ready: " in each["message"]][
        -1
    ] == (
        "Normal",
        "Available",
    )
    stage.later(300)
    await stage.run()
    assert len(stage.all("Event")) == len(events)


async def test_a_missing_secret_key_is_named_before_any_pod_fails() -> None:
    stage = Stage({"database": {"mode": "external", "external": {"secretRef": {"name": "pg"}}}})
    await stage.run()
    ready = stage.conditions()["Ready"]
    assert ready["reason"] == "SecretMissing"
    assert "Secret pg" in ready["message"]
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "pg", "namespace": "tests"},
    }
    await stage.cluster.apply({**secret, "data": {"url": "eA=="}})
    await stage.run()
    assert stage.conditions()["Ready"]["reason"] == "SecretKeyMissing"
    await stage.cluster.apply({**secret, "data": {"uri": "eA=="}})
    await stage.settle()
    assert stage.conditions()["Ready"]["status"] == "True"


async def test_cloudnativepg_is_missed_and_found() -> None:
    stage = Stage({"database": {"mode": "cnpg"}})
    await stage.run()
    database = stage.conditions()["DatabaseReady"]
    assert (database["status"], database["reason"]) == ("False", "CloudNativePgAbsent")
    stage.cluster.install("postgresql.cnpg.io/v1", "Cluster")
    await stage.run()
    cluster = stage.all("Cluster")[0]
    assert stage.conditions()["DatabaseReady"]["reason"] == "Progressing"
    stage.cluster.edit(ref(cluster), lambda each: each.update(status={"readyInstances": 1}))
    await stage.run()
    assert stage.conditions()["DatabaseReady"]["status"] == "True"


async def test_jobs_of_a_cron_job_are_not_pruned() -> None:
    stage = Stage()
    await stage.settle()
    labels = stage.child("Deployment", "kb-api")["metadata"]["labels"]
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "kb-backup-1",
            "namespace": "tests",
            "labels": labels,
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": "kb-backup",
                    "uid": "x",
                    "controller": True,
                }
            ],
        },
        "spec": {},
    }
    await stage.cluster.apply(job)
    await stage.run()
    assert stage.child("Job", "kb-backup-1")


async def test_a_spec_that_cannot_be_read_is_a_condition() -> None:
    """B103."""
    stage = Stage({"api": {"replicas": -1}})
    await stage.run()
    ready = stage.conditions()["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "InvalidSpec")
    assert "replicas" in ready["message"]


def _image(stage: Stage, name: str) -> str:
    spec = stage.child("Deployment", name)["spec"]
    return str(spec["template"]["spec"]["containers"][0]["image"])


async def test_the_error_of_what_belongs_to_no_part_is_told_by_ready() -> None:
    """Settings, rules and client Secret are all parts'."""
    stage = Stage()
    await stage.settle()
    stage.cluster.refuse("Invalid", "too long", lambda m: m["kind"] == "ConfigMap")
    stage.edit_spec(api={"settings": {"RAGBASE_MAX_INFLIGHT": "7"}})
    await stage.run()
    ready = stage.conditions()["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "ApplyRefused")
    assert "too long" in ready["message"]
