"""From settings to rerankers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from ragbase.clients.lazy_reranker import LazyReranker
from ragbase.clients.select_reranker import select_rerankers
from ragbase.clients.tei_reranker import TeiReranker
from ragbase.errors import ConfigurationError, RerankerUnavailableError
from ragbase.settings import Settings
from ragbase.settings.reranking import MS_MARCO, RerankerSpec

from ..model_server import Stub
from ..tiny_reranker import write_reranker

SERVER = {"embedding_engine": "tei", "embedding_url": "http://embedding"}


def settings(**values: Any) -> Settings:
    return Settings(**values)


def in_environment(monkeypatch: pytest.MonkeyPatch, value: object) -> Settings:
    text = value if isinstance(value, str) else json.dumps(value)
    monkeypatch.setenv("RAGBASE_RERANKERS", text)
    return Settings()


def test_the_four_urls_have_the_contracts_names_budgets_and_stand_in() -> None:
    found = settings(
        reranker_url="http://a",
        bge_gpu_reranker_url="http://b",
        qwen_reranker_url="http://c",
        qwen_8b_reranker_url="http://d",
    ).all_rerankers
    assert [(name, spec.url, spec.timeout_s, spec.fallback) for name, spec in found.items()] == [
        ("default", "http://a", 60, None),
        ("bge-gpu", "http://b", 60, "default"),
        ("qwen-4b", "http://c", 120, "default"),
        ("qwen-8b", "http://d", 180, "default"),
    ]


def test_without_a_default_there_is_no_stand_in() -> None:
    assert settings(qwen_reranker_url="http://c").all_rerankers["qwen-4b"].fallback is None


def test_the_list_wins_over_the_urls_and_they_over_the_model() -> None:
    found = settings(
        rerankers={"qwen-4b": {"url": "http://mine", "timeout_s": 5}},
        qwen_reranker_url="http://theirs",
        reranker_url="http://default",
        rerank_model="acme/small",
    ).all_rerankers
    assert found["qwen-4b"] == RerankerSpec(url="http://mine", timeout_s=5.0)
    assert found["default"].url == "http://default"


def test_the_list_is_json_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {
        "fast": {"url": "http://fast", "batch": 8, "api_key": "k"},
        "slow": {"model": "acme/slow", "timeout_s": 9, "fallback": "fast"},
    }
    found = in_environment(monkeypatch, given).all_rerankers
    assert (found["fast"].batch, found["fast"].timeout_s) == (8, 60.0)
    assert found["fast"].api_key.get_secret_value() == "k"
    assert (found["slow"].model, found["slow"].fallback) == ("acme/slow", "fast")
    assert in_environment(monkeypatch, "").all_rerankers == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("{", "no JSON"),
        ("[]", "dict"),
        ({"a": "http://a"}, "RAGBASE_RERANKERS.a"),
        ({"a": {}}, "give url"),
        ({"a": {"url": "http://a", "time_out": 5}}, "time_out"),
        ({"a": {"url": "http://a", "timeout_s": 0}}, "timeout_s"),
        ({"a": {"url": "http://a", "batch": 0}}, "batch"),
        ({"A B": {"url": "http://a"}}, "no name of a reranker"),
        ({"a": {"url": "http://a", "fallback": "b"}}, "fallback of reranker a is b, which is not"),
        ({"a": {"url": "http://a", "fallback": "a"}}, "its own fallback"),
    ],
)
def test_what_cannot_work_is_refused_and_says_where(
    monkeypatch: pytest.MonkeyPatch, given: object, said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        in_environment(monkeypatch, given)


def test_no_message_repeats_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"a": {"url": "http://a", "api_key": "s3cret", "fallback": "b"}}
    with pytest.raises(ValidationError) as caught:
        in_environment(monkeypatch, given)
    assert "s3cret" not in str(caught.value)


async def test_an_unusable_address_names_its_setting() -> None:
    for values, said in (
        ({"reranker_url": "reranker:80"}, "RERANKER_URL must begin"),
        ({"qwen_8b_reranker_url": "x"}, "QWEN_8B_RERANKER_URL must begin"),
        ({"rerankers": {"fast": {"url": "x"}}}, "RAGBASE_RERANKERS, fast.url must begin"),
    ):
        with pytest.raises(ConfigurationError, match=said):
            select_rerankers(settings(**SERVER, **values))


async def test_off_is_off() -> None:
    assert select_rerankers(settings(rerank_enabled=False, reranker_url="http://a")) == {}


async def test_a_server_is_asked_with_its_own_key(stub: Stub) -> None:
    stub.api_key = "s3cret"
    found = select_rerankers(
        settings(**SERVER, rerankers={"fast": {"url": stub.url, "api_key": "s3cret"}})
    )
    assert list(found) == ["fast"]
    client = found["fast"].client
    assert isinstance(client, TeiReranker)
    assert len(await client.score("q", ["text"])) == 1
    await client.aclose()


async def test_a_model_runs_in_this_process(tmp_path: Path) -> None:
    folder = write_reranker(tmp_path / "tiny")
    found = select_rerankers(settings(**SERVER, rerank_model=str(folder)))["default"]
    assert not found.on_demand
    assert isinstance(found.client, LazyReranker)
    await found.client.ping()
    assert len(await found.client.score("a", ["b", "c d"])) == 2
    assert (await found.client.info()).max_tokens == 32
    await found.client.aclose()


async def test_a_model_that_cannot_be_had_says_how_to_get_one(tmp_path: Path) -> None:
    found = select_rerankers(settings(**SERVER, rerank_model=str(tmp_path / "nowhere")))
    with pytest.raises(RerankerUnavailableError, match="Name a folder"):
        await found["default"].client.score("a", ["b"])
    await found["default"].client.aclose()


async def test_embedded_a_small_model_is_on_demand_and_nothing_is_fetched_at_start() -> None:
    found = select_rerankers(settings())["default"]
    assert found.on_demand
    client = found.client
    assert isinstance(client, LazyReranker)
    assert client.model == MS_MARCO
    assert client._loading is not None
    await client._loading
    assert not client.ready
    assert "is being loaded" in client.state, "nothing was tried, so nothing failed"
    with pytest.raises(RerankerUnavailableError, match="cannot be fetched"):
        await client.score("a", ["b"])
    await client.aclose()


async def test_embedded_the_small_model_is_used_where_the_cache_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    cached = tmp_path / f"models--{MS_MARCO.replace('/', '--')}"
    write_reranker(cached / "snapshots" / "abc")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("abc")
    client = select_rerankers(settings())["default"].client
    assert isinstance(client, LazyReranker)
    await client.wait()
    assert client.ready
    assert (await client.info()).model == MS_MARCO
    await client.aclose()


async def test_beside_a_server_for_embeddings_nothing_runs_in_this_process_unasked() -> None:
    assert select_rerankers(settings(**SERVER)) == {}
