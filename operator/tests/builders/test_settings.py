"""Settings of API and workers, read by the code that reads them in the pod."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from ragbase.settings import Settings
from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.settings import extraction_of
from ragbase_operator.models.objects import RagBase

from .conftest import Make
from .found import Found


def _environment(children: list[dict[str, Any]], found: Found, name: str) -> dict[str, str]:
    """What the container sees; a Secret's value is its name and key."""
    (config,) = (c["data"] for c in children if c["kind"] == "ConfigMap")
    seen = dict(config)
    for variable, value in found.env(found.one(children, "Deployment", name)).items():
        if isinstance(value, dict):
            value = "rb_abcdefgh_" + re.sub(r"\W", "", str(value)).ljust(43, "x")[:43]
        seen[variable] = re.sub(r"\$\((\w+)\)|\$\$", lambda m: seen[m[1]] if m[1] else "$", value)
    return seen


NOT_SETTINGS = re.compile(r"RAGBASE_RERANKER_KEY_\d+")
"""What another variable refers to."""


def _read(
    children: list[dict[str, Any]], found: Found, part: str, monkeypatch: pytest.MonkeyPatch
) -> Settings:
    """The settings of a part, in its pod."""
    name = next(n for n in found.names(children, "Deployment") if n.endswith(f"-{part}"))
    with monkeypatch.context() as patch:
        for variable, value in _environment(children, found, name).items():
            patch.setenv(variable, value)
        return Settings()


@pytest.fixture
def told(children: list[dict[str, Any]], found: Found, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The API's settings in its pod."""
    return _read(children, found, "api", monkeypatch)


def test_the_api_reads_them(told: Settings, ragbase: RagBase) -> None:
    """What the spec says arrives: engine, rerankers with budget and stand-in, keys, ports."""
    spec = ragbase.spec
    assert told.engine == ("openai" if spec.embeddings.engine == "openai" else "tei")
    assert told.auth_on is spec.api.auth.enabled
    assert (told.port, told.metrics_port, told.workers) == (8000, 9090, 0)
    assert told.worker_jobs == spec.workers.jobs
    assert told.database_url.get_secret_value()
    assert list(told.all_rerankers) == sorted(r.name for r in spec.rerankers)
    for reranker in spec.rerankers:
        read = told.all_rerankers[reranker.name]
        assert read.timeout_s == reranker.timeout_seconds
        assert read.fallback == reranker.fallback


def test_every_name_is_a_setting(children: list[dict[str, Any]], found: Found) -> None:
    """No name is misspelt: a setting that nobody reads says nothing."""
    known = {
        name
        for field in Settings.model_fields.values()
        for name in getattr(field.validation_alias, "choices", [])
    }
    parts = [
        name
        for name in found.names(children, "Deployment")
        if name.endswith(("-api", "-worker", "-localrag"))
    ]
    assert len(parts) >= 2
    for part in parts:
        given = set(_environment(children, found, part)) - {"HTTPS_PROXY"}
        assert not {each for each in given - known if not NOT_SETTINGS.fullmatch(each)}, part


def test_graph_and_language_model_are_as_the_spec_says(told: Settings, ragbase: RagBase) -> None:
    """Each name means there what it means here: who extracts, with what, what Memgraph's user is."""
    graph, llm = ragbase.spec.graph, ragbase.spec.llm
    assert told.extraction == extraction_of(ragbase)
    assert bool(told.ner_url) is (told.extraction == "ner" and graph.ner.engine == "gliner")
    if told.ner_url:
        assert told.ner_labels == tuple(graph.ner.labels)
        assert told.ner_threshold == graph.ner.threshold
    assert told.projected is graph.projected
    assert bool(told.memgraph_username) is graph.projected
    assert bool(told.memgraph_password.get_secret_value()) is graph.projected
    for purpose, spec in (("contextual", told.llm_contextual), ("extraction", told.llm_extraction)):
        wished = getattr(llm, purpose, None)
        assert (spec is not None) is (wished is not None and wished.enabled), purpose
        if spec is not None:
            assert spec.url == (wished.base_url or llm.base_url)
            assert spec.model == (wished.model or llm.model)


LLM = {"baseUrl": "http://llm:8000/v1", "model": "m", "apiKeySecretRef": {"name": "a", "key": "k"}}
OTHER = {"baseUrl": "http://other/v1", "model": "o", "apiKeySecretRef": {"name": "b", "key": "k"}}


@pytest.mark.parametrize("purpose", ["contextual", "extraction"])
def test_a_purpose_may_have_a_server_and_a_key_of_its_own(
    make: Make,
    inputs: Inputs,
    found: Found,
    monkeypatch: pytest.MonkeyPatch,
    purpose: str,
) -> None:
    llm = {**LLM, "contextual": {"enabled": True}, purpose: {"enabled": True, **OTHER}}
    children = build(make({"graph": {"enabled": True}, "llm": llm}), inputs)
    told = _read(children, found, "worker", monkeypatch)
    specs = {"contextual": told.llm_contextual, "extraction": told.llm_extraction}
    own = specs.pop(purpose)
    (shared,) = specs.values()
    assert own is not None
    assert shared is not None
    assert (own.url, own.model) == ("http://other/v1", "o")
    assert (shared.url, shared.model) == ("http://llm:8000/v1", "m")
    assert own.api_key != shared.api_key
    assert own.api_key
    assert told.llm_extraction is not None
    assert told.extraction == "llm"


def test_memgraphs_address_is_its_services(
    make: Make, inputs: Inputs, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = build(make({"graph": {"enabled": True}}), inputs)
    url = urlsplit(_read(children, found, "worker", monkeypatch).memgraph_url)
    (port,) = found.one(children, "Service", "docs-memgraph")["spec"]["ports"]
    assert (url.scheme, url.hostname, url.port) == ("bolt", "docs-memgraph", port["port"])


def test_the_second_api_reads_its_own(
    make: Make, inputs: Inputs, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its port, its folder, the served model; and no projection, which it has no use for."""
    spec = {"localrag": {"enabled": True}, "graph": {"enabled": True}}
    told = _read(build(make(spec), inputs), found, "localrag", monkeypatch)
    assert (told.localrag_port, told.metrics_port) == (57352, 9090)
    assert str(told.localrag_models_dir) == "/data/models"
    assert told.localrag_embedding_model == told.embedding_model
    assert not told.projected


@pytest.mark.parametrize("source", ["everything"])
def test_rerankers_of_the_stack(told: Settings) -> None:
    """Models of one pod by their paths, a key from its Secret, a URL as it stands."""
    urls = {name: spec.url for name, spec in told.all_rerankers.items()}
    assert urls == {
        "default": "http://docs-reranker-default",
        "qwen-4b": "http://docs-reranker-qwen-4b/models/qwen-4b",
        "qwen-8b": "http://docs-reranker-qwen-4b/models/qwen-8b",
        "bge-gpu": "http://docs-reranker-bge-gpu/models/bge-gpu",
        "remote": "https://rerank.example.com/$(X)",
    }
    assert told.all_rerankers["remote"].api_key.get_secret_value().startswith("rb_abcdefgh_")
    assert not told.all_rerankers["default"].api_key.get_secret_value()


def test_own_settings_win(make: Make, inputs: Inputs, found: Found) -> None:
    """Those of `spec.api.settings` over ours, those of `pod.env` over both."""
    spec = {
        "rerankers": [{"name": "default"}],
        "api": {
            "settings": {"RAGBASE_WORKERS": "1", "RAGBASE_RERANKERS": "{}"},
            "pod": {"env": [{"name": "DATABASE_URL", "value": "postgresql://elsewhere/x"}]},
        },
    }
    children = build(make(spec), inputs)
    (config,) = (c["data"] for c in children if c["kind"] == "ConfigMap")
    assert config["RAGBASE_WORKERS"] == "1"
    env = found.env(found.one(children, "Deployment", "docs-api"))
    assert env["DATABASE_URL"] == "postgresql://elsewhere/x"
    assert "RAGBASE_RERANKERS" not in env


def test_settings_roll_the_pods(make: Make, inputs: Inputs, found: Found) -> None:
    """The ConfigMap is part of the hash, for its change alone starts no pod."""
    one, other = (
        build(make({"api": {"settings": {"RAGBASE_MAX_INFLIGHT": value}}}), inputs)
        for value in ("64", "128")
    )
    for name in ("docs-api", "docs-worker"):
        assert found.one(one, "Deployment", name) != found.one(other, "Deployment", name)
    assert found.one(one, "StatefulSet", "docs-postgres") == found.one(
        other, "StatefulSet", "docs-postgres"
    )
