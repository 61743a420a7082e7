"""Model servers: what they serve, where they run, what they keep."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_inference.cli import build_parser
from ragbase_inference.server.settings import ServerSettings
from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs

from .conftest import Make
from .found import Found

ON_GPU = {"engine": "ragbase", "device": "rocm", "model": "Qwen/Qwen3-Reranker-4B"}


def _serving(args: list[str]) -> ServerSettings:
    """Settings of the product's server, by its own parser."""
    given = vars(build_parser().parse_args(args))
    assert given.pop("command") == "serve"
    return ServerSettings(**{name: value for name, value in given.items() if value is not None})


def _pod(child: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = child["spec"]["template"]["spec"]
    return spec


def test_tei_serves_one_model_on_an_open_port(make: Make, inputs: Inputs, found: Found) -> None:
    """8080 for TEI's 80: a pod that is not root cannot bind it everywhere."""
    spec = {"embeddings": {"revision": "abc", "dtype": "float32", "maxClientBatchSize": 1024}}
    children = build(make(spec), inputs)
    container = found.container(found.one(children, "Deployment", "docs-embedding"))
    args = dict(zip(container["args"][::2], container["args"][1::2], strict=True))
    assert args == {
        "--model-id": "Snowflake/snowflake-arctic-embed-l-v2.0",
        "--revision": "abc",
        "--dtype": "float32",
        "--max-client-batch-size": "1024",
        "--max-concurrent-requests": "1024",
        "--hostname": "0.0.0.0",
        "--port": "8080",
    }
    service = found.one(children, "Service", "docs-embedding")
    assert service["spec"]["ports"][0]["port"] == 80


def test_our_server_reads_its_arguments(children: list[dict[str, Any]], found: Found) -> None:
    """All arguments of the product's own server are flags that it has, with values it takes."""
    for child in children:
        if child["kind"] == "Deployment" and "ragbase-inference" in found.container(child)["image"]:
            settings = _serving(found.container(child)["args"])
            assert (settings.port, settings.hostname) == (8080, "0.0.0.0")
            assert settings.specs


@pytest.mark.parametrize("source", ["everything"])
def test_several_models_share_a_pod(
    children: list[dict[str, Any]], found: Found, source: str
) -> None:
    """The pod is as its leader says; the others have neither Deployment nor Service."""
    leader = found.one(children, "Deployment", "docs-reranker-qwen-4b")
    settings = _serving(found.container(leader)["args"])
    assert [(m.name, m.model, m.revision) for m in settings.specs] == [
        ("qwen-4b", "Qwen/Qwen3-Reranker-4B", "22e683669bc0"),
        ("qwen-8b", "Qwen/Qwen3-Reranker-8B", None),
    ]
    assert settings.max_client_batch_size == 64
    for kind in ("Deployment", "Service"):
        assert "docs-reranker-qwen-8b" not in found.names(children, kind)
        assert "docs-reranker-remote" not in found.names(children, kind)


@pytest.mark.parametrize("source", ["everything"])
def test_a_gpu_is_data(children: list[dict[str, Any]], found: Found, source: str) -> None:
    """Resource, count, nodes, tolerations, runtime class, groups: as the spec says them."""
    leader = found.one(children, "Deployment", "docs-reranker-qwen-4b")
    pod = _pod(leader)
    assert found.container(leader)["resources"]["limits"] == {"amd.com/gpu": "2"}
    assert pod["nodeSelector"] == {"gpu.example.com/product": "big"}
    assert pod["tolerations"] == [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]
    assert pod["runtimeClassName"] == "gpu"
    assert pod["securityContext"]["supplementalGroups"] == [44, 992]
    assert found.env(leader)["HOME"] == "/tmp"
    other = found.one(children, "Deployment", "docs-reranker-bge-gpu")
    assert found.container(other)["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert "nodeSelector" not in _pod(other)


def test_no_vendor_without_a_gpu(make: Make, inputs: Inputs, found: Found) -> None:
    """On CPUs nothing is asked of a node."""
    children = build(make({"rerankers": [{"name": "default"}], "graph": {"enabled": True}}), inputs)
    text = found.text(children)
    for word in ("amd.com", "nvidia.com", "amd-gpu", "HSA_", "MIOPEN", "CUDA_VISIBLE"):
        assert word not in text


@pytest.mark.parametrize("source", ["sample-amd-gfx1151"])
def test_the_override_is_at_its_workload_only(
    children: list[dict[str, Any]], found: Found, source: str
) -> None:
    """`HSA_OVERRIDE_GFX_VERSION` breaks every other GPU."""
    having = [c["metadata"]["name"] for c in children if "HSA_OVERRIDE" in found.text(c)]
    assert having == ["docs-reranker-default"]


@pytest.mark.parametrize(
    ("spec", "strategy"),
    [
        ({"rerankers": [{"name": "one"}]}, None),
        ({"rerankers": [{"name": "one", **ON_GPU}]}, "RollingUpdate"),
        ({"rerankers": [{"name": "one"}], "modelCache": {"size": "5Gi"}}, "Recreate"),
        ({"rerankers": [{"name": "one", **ON_GPU}], "modelCache": {"size": "5Gi"}}, "Recreate"),
        ({"rerankers": [{"name": "one"}], "modelCache": {"existingClaim": "all"}}, None),
    ],
)
def test_a_change_does_not_wait_for_what_the_old_pod_holds(
    make: Make, inputs: Inputs, found: Found, spec: dict[str, Any], strategy: str | None
) -> None:
    """Neither for a second GPU nor for a volume of one node."""
    server = found.one(build(make(spec), inputs), "Deployment", "docs-reranker-one")
    given = server["spec"].get("strategy")
    assert (given and given["type"]) == strategy
    if strategy == "RollingUpdate":
        assert given["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


@pytest.mark.parametrize(
    ("cache", "volume"),
    [
        ({}, {"emptyDir": {}}),
        ({"existingClaim": "all"}, {"persistentVolumeClaim": {"claimName": "all"}}),
        ({"size": "5Gi"}, {"persistentVolumeClaim": {"claimName": "docs-embedding-cache"}}),
    ],
)
def test_models_are_kept_where_it_is_wished(
    make: Make, inputs: Inputs, found: Found, cache: dict[str, Any], volume: dict[str, Any]
) -> None:
    """`/data` is the cache of both engines; a size gives each server a claim of its own."""
    children = build(make({"modelCache": cache}), inputs)
    server = found.one(children, "Deployment", "docs-embedding")
    assert {"name": "cache", "mountPath": "/data"} in found.container(server)["volumeMounts"]
    assert {"name": "cache", **volume} in _pod(server)["volumes"]
    own = "docs-embedding-cache" in found.names(children, "PersistentVolumeClaim")
    assert own is ("size" in cache)


def test_a_first_download_has_half_an_hour(make: Make, inputs: Inputs, found: Found) -> None:
    container = found.container(found.one(build(make(), inputs), "Deployment", "docs-embedding"))
    startup = container["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] == 1800


GLINER = {"engine": "gliner", "device": "rocm", "labels": ["person", "place"], "threshold": 0.3}


@pytest.mark.parametrize(
    ("graph", "llm", "by", "served"),
    [
        ({"enabled": True}, False, "ner", False),
        ({"enabled": True}, True, "llm", False),
        ({"enabled": True, "ner": GLINER}, True, "llm", False),
        ({"enabled": True, "extraction": "ner", "ner": GLINER}, True, "ner", True),
        ({"enabled": True, "ner": GLINER}, False, "ner", True),
        ({"enabled": True, "extraction": "off", "ner": GLINER}, False, "off", False),
        ({"enabled": False, "extraction": "ner", "ner": GLINER}, False, "off", False),
    ],
)
def test_who_finds_entities(
    make: Make,
    inputs: Inputs,
    found: Found,
    graph: dict[str, Any],
    llm: bool,
    by: str,
    served: bool,
) -> None:
    """A language model, spaCy in the workers, or GLiNER on a server of its own."""
    spec: dict[str, Any] = {"graph": graph}
    if llm:
        spec["llm"] = {"baseUrl": "http://llm", "model": "m"}
    children = build(make(spec), inputs)
    config = found.one(children, "ConfigMap", "docs-config")["data"]
    assert config["RAGBASE_EXTRACTION"] == by
    assert ("docs-ner" in found.names(children, "Deployment")) is served
    told = {name: config.get(f"RAGBASE_NER_{name}") for name in ("URL", "LABELS", "THRESHOLD")}
    assert told == (
        {"URL": "http://docs-ner", "LABELS": "person,place", "THRESHOLD": "0.3"}
        if served
        else dict.fromkeys(told)
    )


@pytest.mark.parametrize(
    ("more", "image"),
    [
        ({"device": "rocm"}, "registry.example.com/ragbase/ragbase-inference:1.2.3-rocm"),
        ({"device": "cuda"}, "registry.example.com/ragbase/ragbase-inference:1.2.3-cuda"),
        (
            {"image": {"tag": "1.2.3-cpu-torch"}},
            "registry.example.com/ragbase/ragbase-inference:1.2.3-cpu-torch",
        ),
    ],
)
def test_gliner_runs_on_an_image_with_torch(
    make: Make, inputs: Inputs, found: Found, more: dict[str, Any], image: str
) -> None:
    """On a GPU those of the release; the one for CPUs has no torch, so the spec must name one."""
    spec = {"graph": {"enabled": True, "ner": {"engine": "gliner", **more}}}
    ner = found.one(build(make(spec), inputs), "Deployment", "docs-ner")
    assert found.container(ner)["image"] == image
    limits = found.container(ner)["resources"].get("limits", {})
    assert ("amd.com/gpu" in limits) is ("device" in more)
