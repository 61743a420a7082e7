"""The second API: its pod, its volume, and what clients are told of it."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.references import SecretUse, secret_uses

from .conftest import Make
from .found import Found

URL = "http://docs-localrag.search.svc:57352"


def _children(make: Make, inputs: Inputs, **more: Any) -> list[dict[str, Any]]:
    api = more.pop("api", {})
    return build(make({"localrag": {"enabled": True, **more}, "api": api}), inputs)


def test_none_unless_it_is_asked_for(make: Make, inputs: Inputs, found: Found) -> None:
    children = build(make(), inputs)
    assert "localrag" not in found.text(children)


def test_it_runs_the_apis_image_with_a_volume_of_models(
    make: Make, inputs: Inputs, found: Found
) -> None:
    children = _children(make, inputs, storage={"size": "7Gi", "storageClassName": "fast"})
    deployment = found.one(children, "Deployment", "docs-localrag")
    container = found.container(deployment)
    api = found.container(found.one(children, "Deployment", "docs-api"))
    assert (container["image"], container["args"]) == (api["image"], ["localrag"])
    env = found.env(deployment)
    assert env["LOCALRAG_MODELS_DIR"] == "/data/models"
    assert {"name": "data", "mountPath": "/data"} in container["volumeMounts"]
    claim = found.one(children, "PersistentVolumeClaim", "docs-localrag-models")["spec"]
    assert claim["resources"]["requests"] == {"storage": "7Gi"}
    assert claim["storageClassName"] == "fast"
    (mounted,) = (
        v["persistentVolumeClaim"]["claimName"]
        for v in deployment["spec"]["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in v
    )
    assert mounted == "docs-localrag-models"
    assert deployment["spec"]["strategy"] == {"type": "Recreate"}


def test_it_listens_where_its_service_and_probes_lead(
    make: Make, inputs: Inputs, found: Found
) -> None:
    children = _children(make, inputs)
    deployment = found.one(children, "Deployment", "docs-localrag")
    container = found.container(deployment)
    ports = {p["name"]: p["containerPort"] for p in container["ports"]}
    assert ports == {"http": 57352, "metrics": 9090}
    assert found.env(deployment)["LOCALRAG_PORT"] == "57352"
    (port,) = found.one(children, "Service", "docs-localrag")["spec"]["ports"]
    assert (port["name"], port["port"], port["targetPort"]) == ("http", 57352, "http")
    paths = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "liveness")}
    assert paths == {"startup": "/health/live", "liveness": "/health/live"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/health/ready", "port": "http"}


def test_many_pods_share_a_claim_that_many_nodes_can_mount(
    make: Make, inputs: Inputs, found: Found
) -> None:
    children = _children(make, inputs, replicas=3, existingClaim="models")
    assert found.names(children, "PersistentVolumeClaim") == ["data-docs-postgres-0"]
    spec = found.one(children, "Deployment", "docs-localrag")["spec"]
    assert spec["replicas"] == 3
    assert "strategy" not in spec
    volumes = spec["template"]["spec"]["volumes"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": "models"}} in volumes


def test_clients_are_told_where_it_is(make: Make, inputs: Inputs, found: Found) -> None:
    assert found.secret(_children(make, inputs), "docs-client")["localragUrl"] == URL
    assert "localragUrl" not in found.secret(build(make(), inputs), "docs-client")


def test_it_comes_and_goes_without_a_pod_of_the_first_api(
    make: Make, inputs: Inputs, found: Found
) -> None:
    one, other = (
        build(make(), inputs),
        _children(make, inputs, settings={"LOCALRAG_CANDIDATES": "9"}),
    )
    for name in ("docs-api", "docs-worker", "docs-embedding"):
        assert found.one(one, "Deployment", name) == found.one(other, "Deployment", name)


def test_its_own_settings_win_over_those_of_all_and_over_ours(
    make: Make, inputs: Inputs, found: Found
) -> None:
    """And none is read as a variable of Kubernetes."""
    shared = {"LOCALRAG_EMBEDDING_MODEL": "of-all", "LOCALRAG_CHAT_MODEL": "of-all"}
    own = {"LOCALRAG_CHAT_MODEL": "mine", "LOCALRAG_RERANKER_MODEL": "$(HOME)"}
    children = _children(make, inputs, settings=own, api={"settings": shared})
    env = found.env(found.one(children, "Deployment", "docs-localrag"))
    assert env["LOCALRAG_EMBEDDING_MODEL"] == "of-all"
    assert env["LOCALRAG_CHAT_MODEL"] == "mine"
    assert env["LOCALRAG_RERANKER_MODEL"] == "$$(HOME)"
    assert "LOCALRAG_CHAT_MODEL" not in found.env(found.one(children, "Deployment", "docs-api"))


def test_it_embeds_with_the_served_model(make: Make, inputs: Inputs, found: Found) -> None:
    """Vectors of one model, whether a file of the original's name lies in the volume or not."""
    children = _children(make, inputs)
    env = found.env(found.one(children, "Deployment", "docs-localrag"))
    config = found.one(children, "ConfigMap", "docs-config")["data"]
    assert env["LOCALRAG_EMBEDDING_MODEL"] == config["EMBEDDING_MODEL"]


@pytest.mark.parametrize(
    ("rerankers", "expected"),
    [([], None), (["a", "b"], "a"), (["a", "default"], "default")],
)
def test_it_ranks_with_a_served_reranker_where_there_is_one(
    make: Make, inputs: Inputs, found: Found, rerankers: list[str], expected: str | None
) -> None:
    spec = {"localrag": {"enabled": True}, "rerankers": [{"name": name} for name in rerankers]}
    env = found.env(found.one(build(make(spec), inputs), "Deployment", "docs-localrag"))
    assert env.get("LOCALRAG_RERANKER_MODEL") == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, None),
        ({"cpu": "2"}, None),
        ({"memory": "6Gi"}, 5 * 2**30),
        ({"memory": "1Gi"}, 64 * 2**20),
    ],
)
def test_models_fit_into_the_pods_memory(
    make: Make, inputs: Inputs, found: Found, limits: dict[str, str], expected: int | None
) -> None:
    """So that a model gives way to another one, where else the pod would be killed."""
    children = _children(make, inputs, resources={"limits": limits})
    env = found.env(found.one(children, "Deployment", "docs-localrag"))
    assert env.get("LOCALRAG_MODELS_MEMORY_BYTES") == (expected and str(expected))


def test_it_needs_no_memgraph(make: Make, inputs: Inputs, found: Found) -> None:
    """The ConfigMap names one for API and workers; this API would only ask whether it is well."""
    spec = {"localrag": {"enabled": True}, "graph": {"enabled": True}}
    env = found.env(found.one(build(make(spec), inputs), "Deployment", "docs-localrag"))
    assert env["MEMGRAPH_ENABLED"] == "false"


def test_secrets_that_its_pod_reads_must_be_there(make: Make) -> None:
    env = [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "openai", "key": "token"}}}]
    ragbase = make({"localrag": {"enabled": True, "pod": {"env": env}}})
    assert SecretUse("openai", "token") in secret_uses(ragbase.spec)


def test_it_is_scraped_with_its_component(make: Make, inputs: Inputs, found: Found) -> None:
    spec = {"localrag": {"enabled": True}, "monitoring": {"serviceMonitor": True}}
    monitor = found.one(build(make(spec), inputs), "PodMonitor", "docs-localrag")["spec"]
    (chosen,) = monitor["selector"]["matchExpressions"]
    assert chosen["values"] == ["localrag"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    assert endpoint["port"] == "metrics"
