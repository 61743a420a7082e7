"""A name that another owner has is left to it, and said so; what nobody has is taken."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.reconcile.memory import Memory

from .stage import API_VERSION, NAMESPACE, Stage, ref

RERANKED = {"rerankers": [{"name": "api"}]}
"""Of a RagBase `kb`: its Deployment and Service are `kb-reranker-api`, as those of the API of a
RagBase `kb-reranker`."""


async def both() -> tuple[Stage, Stage]:
    """`kb-reranker`, which is well, and then `kb`, in the same namespace."""
    first, second = Stage(name="kb-reranker"), Stage(RERANKED)
    await first.settle()
    second.cluster = first.cluster
    await second.settle()
    return first, second


def everything(stage: Stage) -> list[Manifest]:
    return [
        each for each in stage.cluster._store.all() if each["kind"] in ("Deployment", "Service")
    ]


async def test_a_child_of_another_ragbase_is_not_taken() -> None:
    first, second = await both()
    owner = first.child("Deployment", "kb-reranker-api")["metadata"]["ownerReferences"]
    assert [each["name"] for each in owner] == ["kb-reranker"]
    rerankers = second.conditions()["RerankersReady"]
    assert (rerankers["status"], rerankers["reason"]) == ("False", "NameTaken")
    assert "kb-reranker-api belongs to RagBase kb-reranker" in rerankers["message"]
    assert "another name" in rerankers["message"]
    assert second.conditions()["Ready"]["status"] == "False"
    assert second.conditions()["ApiReady"]["status"] == "True"


async def test_both_go_on_in_peace() -> None:
    """Neither changes what the other has made, pass after pass."""
    first, second = await both()
    await first.run()
    before = everything(first)
    for _ in range(3):
        await first.run()
        await second.run()
    assert everything(first) == before
    assert first.conditions()["Ready"]["status"] == "True"


async def test_the_name_is_taken_once_it_is_free() -> None:
    first, second = await both()
    for kind in ("Deployment", "Service"):
        await first.cluster.delete(ref(first.child(kind, "kb-reranker-api")))
    await second.settle()
    assert second.conditions()["RerankersReady"]["status"] == "True"
    await first.run()
    assert first.conditions()["ApiReady"]["reason"] == "NameTaken"


async def test_what_another_controller_has_is_not_taken() -> None:
    stage = Stage()
    await stage.create()
    await stage.cluster.apply(theirs("v1", "Service", "kb-api", {"spec": {"ports": [{"port": 1}]}}))
    await stage.settle()
    assert stage.conditions()["ApiReady"]["reason"] == "NameTaken"
    assert "App shop" in stage.conditions()["ApiReady"]["message"]
    assert stage.child("Service", "kb-api")["spec"] == {"ports": [{"port": 1}]}


async def test_data_of_another_are_not_taken() -> None:
    """Claims and Secrets have no owner reference under Retain: the labels tell."""
    stage = Stage()
    await stage.create()
    claim = theirs("v1", "PersistentVolumeClaim", "data-kb-postgres-0", {"spec": {}})
    claim["metadata"].pop("ownerReferences")
    claim["metadata"]["labels"] = {
        "app.kubernetes.io/managed-by": "ragbase-operator",
        "app.kubernetes.io/instance": "other",
        "ragbase.dev/owner": "another-uid",
    }
    await stage.cluster.apply(claim)
    await stage.settle()
    database = stage.conditions()["DatabaseReady"]
    assert database["reason"] == "NameTaken"
    assert "RagBase other" in database["message"]
    kept = stage.child("PersistentVolumeClaim", "data-kb-postgres-0")
    assert kept["metadata"]["labels"] == claim["metadata"]["labels"]


async def test_what_nobody_owns_is_taken() -> None:
    """A Secret made by hand is kept and read; a Service is put right."""
    stage = Stage()
    await stage.create()
    for kind, name, content in (
        (
            "Secret",
            "kb-database",
            {"type": "kubernetes.io/basic-auth", "data": {"password": "eHl6"}},
        ),
        ("Service", "kb-api", {"spec": {"clusterIP": "10.0.0.9"}}),
    ):
        manifest = theirs("v1", kind, name, content)
        manifest["metadata"].pop("ownerReferences")
        stage.cluster._store.put(manifest)
    await stage.settle()
    assert stage.conditions()["Ready"]["status"] == "True"
    assert stage.child("Secret", "kb-database")["data"]["password"] == "eHl6"
    assert stage.child("Service", "kb-api")["spec"]["clusterIP"] == "10.0.0.9"
    assert stage.child("Service", "kb-api")["spec"]["ports"]


async def test_children_of_an_earlier_ragbase_of_the_name_are_taken() -> None:
    """It was deleted, the garbage collector has not come by yet, and a new one is there."""
    stage = Stage()
    await stage.settle()
    old = stage.body["metadata"]["uid"]
    api = deepcopy(stage.child("Deployment", "kb-api"))
    stage.cluster._store._objects.pop(Ref(API_VERSION, "RagBase", NAMESPACE, "kb"))
    await stage.create()
    stage.memory = Memory()
    assert stage.body["metadata"]["uid"] != old
    await stage.settle()
    assert stage.conditions()["Ready"]["status"] == "True"
    now = stage.child("Deployment", "kb-api")
    assert now["metadata"]["uid"] == api["metadata"]["uid"]
    owners = [each["uid"] for each in now["metadata"]["ownerReferences"]]
    assert owners == [stage.body["metadata"]["uid"]]


def theirs(version: str, kind: str, name: str, content: dict[str, Any]) -> Manifest:
    """An object of somebody else's controller."""
    owner = {
        "apiVersion": "example.com/v1",
        "kind": "App",
        "name": "shop",
        "uid": "0000",
        "controller": True,
    }
    metadata = {"name": name, "namespace": NAMESPACE, "ownerReferences": [owner]}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


async def test_a_job_made_by_hand_is_left_alone() -> None:
    """Unlike a Service it could not be put right, only deleted."""
    stage = Stage()
    await stage.settle()
    [job] = stage.all("Job")
    await stage.cluster.delete(ref(job))
    mine = {**theirs("batch/v1", "Job", job["metadata"]["name"], {"spec": {}})}
    mine["metadata"].pop("ownerReferences")
    await stage.cluster.apply(mine)
    await stage.run()
    assert stage.conditions()["SchemaReady"]["reason"] == "NameTaken"
    assert stage.all("Job")[0]["spec"] == {}
