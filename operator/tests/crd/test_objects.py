"""Custom resources as a real API server holds them: defaults, status, names, unknown fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ragbase_operator.crd.manifest import definition
from ragbase_operator.crd.schema import structural
from ragbase_operator.models.kinds import BENCHMARK, KINDS, RAGBASE, Kind
from ragbase_operator.models.ragbase import RagBaseSpec

from .examples import example
from .server import CRD_PATH, Server, faults, manifest

SAMPLES = sorted((Path(__file__).parents[3] / "crds" / "samples").glob("*.yaml"))
BY_NAME = {kind.name: kind for kind in KINDS}
PARTIAL: list[dict[str, Any]] = [
    {},
    {"graph": {"memgraph": {"storage": {"storageClassName": "fast"}}}},
    {"localrag": {"storage": {}}},
    {"database": {"resources": {"limits": {"memory": "4Gi"}}}},
    {"rerankers": [{"name": "a"}, {"name": "b", "gpu": {"count": 2}}]},
    {"llm": {"baseUrl": "http://llm", "model": "m", "contextual": {"model": "small"}}},
    {"embeddings": {"gpu": {"nodeSelector": {}}, "resources": {"requests": {"cpu": 2}}}},
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_definition_is_established_and_without_complaint(server: Server, kind: Kind) -> None:
    path = f"{CRD_PATH}/{definition(kind)['metadata']['name']}"
    found = server.control_plane.request("GET", path).body
    conditions = {each["type"]: each["status"] for each in found["status"]["conditions"]}
    assert conditions == {"Established": "True", "NamesAccepted": "True"}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_definition_applied_again_changes_nothing(server: Server, kind: Kind) -> None:
    first = server.apply_crd(kind)
    again = server.apply_crd(kind)
    assert again.warnings == []
    assert first.body["metadata"]["resourceVersion"] == again.body["metadata"]["resourceVersion"]


def test_an_empty_ragbase_has_all_defaults(server: Server) -> None:
    spec = server.made(RAGBASE, None)["spec"]
    assert spec["database"]["mode"] == "managed"
    assert spec["database"]["storage"] == {"size": "10Gi"}
    assert spec["graph"]["memgraph"]["storage"] == {"size": "5Gi"}
    assert spec["localrag"]["storage"] == {"size": "20Gi"}
    assert spec["embeddings"]["model"] == "Snowflake/snowflake-arctic-embed-l-v2.0"
    assert spec["deletionPolicy"] == "Retain"
    assert spec["api"]["auth"]["enabled"] is True


@pytest.mark.parametrize("spec", PARTIAL, ids=str)
def test_the_operator_reads_the_same_from_a_file_and_from_the_api_server(
    server: Server, spec: dict[str, Any]
) -> None:
    held = server.made(RAGBASE, spec)["spec"]
    assert RagBaseSpec.model_validate(held) == RagBaseSpec.model_validate(spec)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples_are_accepted_as_they_are_read(server: Server, path: Path) -> None:
    body = yaml.safe_load(path.read_text(encoding="utf-8"))
    kind = BY_NAME[body["kind"]]
    body["metadata"].pop("namespace", None)
    answer = server.create(kind, body, dry=True, query="fieldValidation=Strict")
    assert answer.status == 201, answer.body
    assert answer.warnings == []
    held = kind.spec.model_validate(answer.body["spec"])
    assert held == kind.spec.model_validate(body.get("spec", {}))


def test_samples_show_what_they_are_there_for() -> None:
    names = {path.stem for path in SAMPLES}
    cases = {"minimal", "cpu-only", "amd-instinct", "amd-gfx1151", "external-postgres", "cnpg"}
    assert cases | {"gitops", "local-rag"} <= names


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_the_status_persists(server: Server, kind: Kind) -> None:
    """B105: nothing that the operator writes is dropped for want of room in the schema."""
    made = server.made(kind, {} if kind is RAGBASE else {"ragbase": "docs"})
    status = everything(structural(kind.status))
    answer = server.replace(kind, {**made, "status": status}, part="status", dry=False)
    assert answer.status == 200, answer.body
    assert answer.warnings == []
    assert server.read(kind, made["metadata"]["name"]).body["status"] == status


def test_the_spec_is_not_written_through_the_status_nor_the_other_way(server: Server) -> None:
    made = server.made(RAGBASE, {})
    changed = {**made, "spec": {"paused": True}, "status": {"replicas": 3}}
    by_status = server.replace(RAGBASE, changed, part="status", dry=True).body
    by_object = server.replace(RAGBASE, changed).body
    assert (by_status["spec"]["paused"], by_status["status"]) == (False, {"replicas": 3})
    assert (by_object["spec"]["paused"], "status" in by_object) == (True, False)


@pytest.mark.parametrize("length", [1, 40, 53, 63, 64, 253])
def test_long_names_are_accepted(server: Server, length: int) -> None:
    """B109: names of children are cut and hashed, so every name that Kubernetes has may be used."""
    for last in "ab":
        body = manifest(RAGBASE, {}, "x" * (length - 1) + last)
        assert server.create(RAGBASE, body).status == 201


@pytest.mark.parametrize("name", ["x" * 254, "Docs", "a_b", "-a"])
def test_names_that_kubernetes_has_not_are_refused(server: Server, name: str) -> None:
    (fault, *_) = faults(server.create(RAGBASE, manifest(RAGBASE, {}, name)))
    assert fault.field == "metadata.name"


def test_unknown_fields_are_refused_or_warned_of(server: Server) -> None:
    body = manifest(RAGBASE, {"databse": {}, "api": {"replica": 2}})
    strict = server.create(RAGBASE, body, query="fieldValidation=Strict")
    assert strict.status == 400
    assert 'unknown field "spec.databse"' in strict.body["message"]
    warned = server.create(RAGBASE, body, query="fieldValidation=Warn")
    assert warned.status == 201
    assert any(r"unknown field \"spec.api.replica\"" in each for each in warned.warnings)
    assert "databse" not in warned.body["spec"]


def test_what_is_passed_through_is_kept_whole(server: Server) -> None:
    pod = {
        "affinity": {"nodeAffinity": {"a": [{"b": {"c": 1}}]}},
        "tolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 5}],
        "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    }
    held = server.made(RAGBASE, {"api": {"pod": pod}})
    assert held["spec"]["api"]["pod"] == pod


def test_amounts_may_be_numbers(server: Server) -> None:
    spec = {"api": {"resources": {"requests": {"cpu": 2, "memory": "1Gi"}}}}
    held = server.made(RAGBASE, spec)["spec"]
    assert held["api"]["resources"] == {"requests": {"cpu": 2, "memory": "1Gi"}}
    assert RagBaseSpec.model_validate(held).api.resources.requests["cpu"] == "2"


def test_scale_turns_the_replicas_of_the_api(server: Server) -> None:
    made = server.made(RAGBASE, {"api": {"replicas": 2}})
    name = made["metadata"]["name"]
    status = {"replicas": 1, "selector": "app=a"}
    server.replace(RAGBASE, {**made, "status": status}, part="status", dry=False)
    scale = server.read(RAGBASE, f"{name}/scale").body
    assert scale["spec"] == {"replicas": 2}
    assert scale["status"] == {"replicas": 1, "selector": "app=a"}
    scale["spec"]["replicas"] = 5
    assert server.replace(RAGBASE, scale, part="scale", dry=False).status == 200
    assert server.read(RAGBASE, name).body["spec"]["api"]["replicas"] == 5


def test_columns_show_condition_reason_documents_and_url(server: Server) -> None:
    made = server.made(RAGBASE, {})
    name = made["metadata"]["name"]
    condition = {
        "type": "Ready",
        "status": "False",
        "reason": "DatabasePending",
        "message": "No node has room.",
        "lastTransitionTime": "2026-11-30T08:00:00Z",
    }
    url = "http://docs-api:8000"
    status = {"conditions": [condition], "index": {"documents": 7}, "endpoints": {"api": url}}
    server.replace(RAGBASE, {**made, "status": status}, part="status", dry=False)
    cells = server.table(RAGBASE, name)
    assert list(cells) == ["Name", "Ready", "Reason", "Documents", "URL", "Message", "Age"]
    shown = [cells[column] for column in ("Name", "Ready", "Reason", "Documents", "URL")]
    assert shown == [name, "False", "DatabasePending", 7, url]


def test_columns_of_a_benchmark_show_the_quality_of_hybrid_search(server: Server) -> None:
    made = server.made(BENCHMARK, {"ragbase": "docs"})
    quality = [{"mode": "keyword", "ndcg10": 0.4}, {"mode": "hybrid", "ndcg10": 0.55}]
    status = {"quality": quality, "errors": 0}
    server.replace(BENCHMARK, {**made, "status": status}, part="status", dry=False)
    cells = server.table(BENCHMARK, made["metadata"]["name"])
    assert (cells["RagBase"], float(cells["nDCG@10"]), cells["Errors"]) == ("docs", 0.55, 0)


@pytest.mark.parametrize("field", ["rerankers", "imagePullSecrets"])
def test_lists_by_name_refuse_the_same_name_twice(server: Server, field: str) -> None:
    twice = manifest(RAGBASE, {field: [{"name": "a"}, {"name": "a"}]})
    (fault,) = faults(server.create(RAGBASE, twice))
    assert fault.field == f"spec.{field}[1]"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_definition_fits_into_the_annotation_of_kubectl_apply(server: Server, kind: Kind) -> None:
    """``kubectl apply`` keeps the whole object in an annotation of at most 256 KiB."""
    body = definition(kind)
    text = json.dumps(body)
    assert len(text) < 100_000
    kept = {"kubectl.kubernetes.io/last-applied-configuration": text}
    patch = {"metadata": {"annotations": kept}}
    path = f"{CRD_PATH}/{body['metadata']['name']}?dryRun=All"
    merge = "application/merge-patch+json"
    assert server.control_plane.request("PATCH", path, patch, content_type=merge).status == 200


def everything(schema: dict[str, Any]) -> Any:
    """A value with every field that ``schema`` has."""
    if "properties" in schema:
        return {name: everything(each) for name, each in schema["properties"].items()}
    if "items" in schema:
        return [everything(schema["items"])]
    if "additionalProperties" in schema:
        return {"k": everything(schema["additionalProperties"])}
    return example(schema)
