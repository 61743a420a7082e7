"""Which reranker a request gets, who stands in for it, and who is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ragbase.clients.lazy_reranker import LazyReranker
from ragbase.clients.reranker import Reranker
from ragbase.errors import (
    ConfigurationError,
    DeadlineExceededError,
    InvalidInputError,
    RerankerUnavailableError,
    UnavailableError,
    UpstreamError,
)
from ragbase.services.circuit import FAILURES
from ragbase.services.named_reranker import NamedReranker
from ragbase.services.rerankers import Rerankers, Scores

DOWN = UnavailableError("down")
Fake = Callable[..., Any]


def rerankers(*fakes: Any) -> Rerankers:
    return Rerankers({fake.name: fake.named for fake in fakes})


async def ask(
    found: Rerankers, name: str | None = None, texts: Sequence[str] = ("1", "2"), **fields: Any
) -> Scores:
    chosen = found.choose(name).reranker
    assert chosen is not None
    return await found.score(chosen, "q", texts, within_s=fields.get("within_s", 5.0))


def test_names_choose_a_reranker_or_its_stand_in(fake_reranker: Fake) -> None:
    """R13."""
    found = rerankers(fake_reranker(), fake_reranker(name="small"))
    for name, chosen, fallback in (
        (None, "default", False),
        ("default", "default", False),
        ("small", "small", False),
        ("qwen-8b", "default", True),
    ):
        choice = found.choose(name)
        assert choice.reranker is not None
        assert (choice.reranker.name, choice.fallback) == (chosen, fallback)


def test_without_any_reranker_the_contracts_names_are_still_names() -> None:
    for name in (None, "default", "bge-gpu", "qwen-4b", "qwen-8b"):
        choice = Rerankers().choose(name)
        assert choice.reranker is None
        assert "RERANKER_URL" in choice.missing
        assert "RAGBASE_RERANK_MODEL" in choice.missing


def test_an_unknown_name_is_refused_with_the_names_there_are(fake_reranker: Fake) -> None:
    with pytest.raises(InvalidInputError) as caught:
        rerankers(fake_reranker(name="small")).choose("large")
    assert caught.value.field == "rerank_model"
    for name in ("default", "bge-gpu", "qwen-4b", "qwen-8b", "small"):
        assert name in caught.value.message


async def test_stand_ins_take_their_turns_and_none_twice(fake_reranker: Fake) -> None:
    first = fake_reranker(name="a", fallback="b", fault=DOWN)
    second = fake_reranker(name="b", fallback="a", fault=UpstreamError("nonsense"))
    found = rerankers(first, second)
    with pytest.raises(UnavailableError, match="down"):
        await ask(found, "a")
    assert (first.asked, second.asked) == (1, 1)
    second.fault = None
    scores = await ask(found, "a")
    assert (scores.by.name, [failed.name for failed, _ in scores.failed]) == ("b", ["a"])


async def test_what_is_wrong_with_a_text_is_nobodys_failure(fake_reranker: Fake) -> None:
    first = fake_reranker(fallback="b", fault=InvalidInputError("no emoji"))
    second = fake_reranker(name="b")
    found = rerankers(first, second)
    for _ in range(FAILURES + 1):
        with pytest.raises(InvalidInputError):
            await ask(found)
    assert (first.asked, second.asked) == (FAILURES + 1, 0)


async def test_a_stand_in_has_only_the_time_that_is_left(fake_reranker: Fake) -> None:
    first = fake_reranker(fallback="b", delay_s=60, timeout_s=0.05)
    second = fake_reranker(name="b", delay_s=60, timeout_s=60)
    found = rerankers(first, second)
    async with asyncio.timeout(5):
        with pytest.raises(DeadlineExceededError, match=r"default did not answer within 0\.05"):
            await ask(found, within_s=0.3)
        assert second.asked == 1
        with pytest.raises(DeadlineExceededError):
            await ask(found, within_s=0.05)
    assert second.asked == 1, "no time was left for it"


async def test_after_failures_in_a_row_it_is_left_alone_until_a_probe_succeeds(
    fake_reranker: Fake,
) -> None:
    fake = fake_reranker(fault=DOWN)
    found = rerankers(fake)
    named = found.all["default"]
    for _ in range(FAILURES):
        with pytest.raises(UnavailableError):
            await ask(found)
    with pytest.raises(RerankerUnavailableError, match=r"failed repeatedly.*down"):
        await ask(found)
    assert fake.asked == FAILURES
    with pytest.raises(RerankerUnavailableError, match="failed repeatedly"):
        await named.probe()
    assert fake.asked == FAILURES, "no probe is due yet"
    named.circuit._probe_at = 0.0
    with pytest.raises(UnavailableError, match="down"):
        await named.probe()
    fake.fault = None
    named.circuit._probe_at = 0.0
    assert await named.probe()
    assert (await ask(found)).by is named


async def test_a_server_that_is_alive_and_wrong_is_not_let_back_by_its_ping(
    fake_reranker: Fake,
) -> None:
    fake = fake_reranker(scores=[7.5])
    found = rerankers(fake)
    for _ in range(FAILURES):
        with pytest.raises(UpstreamError, match="beyond 0…1"):
            await ask(found, texts=["1"])
    named = found.all["default"]
    named.circuit._probe_at = 0.0
    with pytest.raises(UpstreamError):
        await named.probe()
    assert named.circuit.is_open


async def test_a_prober_that_gives_up_counts_as_a_failed_probe(fake_reranker: Fake) -> None:
    fake = fake_reranker(fault=DOWN)
    found = rerankers(fake)
    named = found.all["default"]
    for _ in range(FAILURES):
        with pytest.raises(UnavailableError):
            await ask(found)
    fake.fault, fake.delay_s = None, 60
    named.circuit._probe_at = 0.0
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await named.probe()
    assert named.circuit.is_open
    assert not named.circuit.probe_due


def on_demand(load: Callable[[], Any]) -> tuple[Rerankers, LazyReranker]:
    client = LazyReranker("acme/small", load, wait_s=0.05, again_s=0.0)
    named = NamedReranker("default", client, timeout_s=5.0, on_demand=True)
    return Rerankers({"default": named}), client


async def test_what_is_loaded_on_demand_is_loaded_when_first_asked_for(fake_reranker: Fake) -> None:
    loads = 0
    allowed = asyncio.Event()

    async def load() -> Reranker:
        nonlocal loads
        loads += 1
        await allowed.wait()
        fake: Reranker = fake_reranker()
        return fake

    found, client = on_demand(load)
    assert found.choose(None, asked=False).reranker is None
    await asyncio.sleep(0)
    assert loads == 0
    assert await found.all["default"].probe() is False
    for _ in range(3):
        choice = found.choose(None, asked=True)
        assert choice.reranker is None
        assert "acme/small is being loaded" in choice.missing
    allowed.set()
    await client.ping()
    assert found.choose(None, asked=False).reranker is found.all["default"]
    assert (await ask(found)).by.name == "default"
    assert loads == 1
    await found.aclose()


async def test_what_cannot_be_loaded_says_why_and_is_tried_again(fake_reranker: Fake) -> None:
    fault: Exception | None = ConfigurationError("acme/small cannot be fetched; go online.")

    async def load() -> Reranker:
        if fault is not None:
            raise fault
        fake: Reranker = fake_reranker()
        return fake

    found, client = on_demand(load)
    with pytest.raises(RerankerUnavailableError, match="go online"):
        await client.score("q", ["text"])
    assert "go online" in found.choose(None).missing
    fault = None
    assert await client.score("q", ["1"]) == [pytest.approx(7 / 101)]
    await found.aclose()


async def test_a_load_that_breaks_is_no_load_under_way(fake_reranker: Fake) -> None:
    async def load() -> Reranker:
        raise OSError("secret path")

    _, client = on_demand(load)
    with pytest.raises(RerankerUnavailableError, match="could not be loaded") as caught:
        await client.score("q", ["text"])
    assert "secret" not in str(caught.value)


async def test_a_load_under_way_ends_with_its_owner() -> None:
    async def load() -> Reranker:
        await asyncio.sleep(60)
        raise AssertionError

    found, client = on_demand(load)
    client.start()
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await found.aclose()
