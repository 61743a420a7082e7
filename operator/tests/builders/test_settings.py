"""Settings of API and workers, read by the code that reads them in the pod."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ragbase.settings import Settings
from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.models.objects import RagBase

from .conftest import Make
from .found import Found

OF_THE_GRAPH = re.compile(r"(LLM|MEMGRAPH)_\w+|RAGBASE_(EXTRACTION|NER_\w+)")


def _environment(children: list[dict[str, Any]], found: Found, name: str) -> dict[str, str]:
    """What the container sees; a Secret's value is its name and key."""
    (config,) = (c["data"] for c in children if c["kind"] == "ConfigMap")
    seen = dict(config)
    for variable, value in found.env(found.one(children, "Deployment", name)).items():
        if isinstance(value, dict):
            value = "rb_abcdefgh_" + re.sub(r"\W", "", str(value)).ljust(43, "x")[:43]
        seen[variable] = re.sub(r"\$\((\w+)\)|\$\$", lambda m: seen[m[1]] if m[1] else "$", value)
    return seen


@pytest.fixture
def told(children: list[dict[str, Any]], found: Found, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """The API's settings in its pod."""
    name = next(n for n in found.names(children, "Deployment") if n.endswith("-api"))
    for variable, value in _environment(children, found, name).items():
        monkeypatch.setenv(variable, value)
    return Settings()


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
    (config,) = (c["data"] for c in children if c["kind"] == "ConfigMap")
    assert not {name for name in config if not OF_THE_GRAPH.fullmatch(name)} - known


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
