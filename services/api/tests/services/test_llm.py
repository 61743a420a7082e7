"""Language models as purposes use them: places, budgets, a circuit each, and counters."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from ragbase.clients.llm import Complete
from ragbase.errors import (
    DeadlineExceededError,
    LlmInputTooLongError,
    LlmUnavailableError,
    UpstreamError,
)
from ragbase.models.jobs import ClaimedJob
from ragbase.services.circuit import FAILURES
from ragbase.services.llm import LanguageModels
from ragbase.services.llm_open import language_models
from ragbase.settings import Settings
from ragbase.telemetry.metrics import REGISTRY
from ragbase.worker.verdict import LONGEST_ASKED_S, judge

from ..llm_server import Refuse, Say, Talker, talking


@pytest.fixture(scope="module")
def _server() -> Iterator[Talker]:
    with talking(Talker()) as talker:
        yield talker


@pytest.fixture
def talker(_server: Talker, monkeypatch: pytest.MonkeyPatch) -> Talker:
    _server.__dict__.update(Talker(url=_server.url).__dict__)
    monkeypatch.setattr("ragbase.services.circuit.FIRST_WAIT_S", 0.0)
    monkeypatch.setattr("ragbase.clients.llm_remote.ATTEMPTS", 1)
    return _server


@asynccontextmanager
async def opened(**settings: Any) -> AsyncIterator[LanguageModels]:
    models = language_models(Settings(**settings))
    try:
        yield models
    finally:
        await models.aclose()


def _requests(purpose: str, outcome: str) -> float:
    labels = {"purpose": purpose, "outcome": outcome}
    return REGISTRY.get_sample_value("ragbase_llm_requests_total", labels) or 0.0


def _tokens(purpose: str, direction: str) -> float:
    labels = {"purpose": purpose, "direction": direction}
    return REGISTRY.get_sample_value("ragbase_llm_tokens_total", labels) or 0.0


async def test_without_an_address_there_is_no_model() -> None:
    async with opened() as models:
        assert not models.offers("contextual")
        assert models.servers == {}
        with pytest.raises(LlmUnavailableError, match="LLM_BASE_URL"):
            await models.complete("", "?", purpose="contextual")


async def test_it_is_what_extraction_is_promised(talker: Talker) -> None:
    async with opened(llm_base_url=talker.url) as models:
        ask: Complete = models
        assert await ask.complete("Be brief.", "What?", purpose="extraction")


async def test_purposes_of_one_model_share_a_server_and_others_have_their_own(
    talker: Talker,
) -> None:
    async with opened(llm_base_url=talker.url, llm_model="a") as models:
        assert list(models.servers) == ["llm"]
    async with opened(llm_base_url=talker.url, llm_model="a", llm_extraction_model="b") as models:
        assert sorted(models.servers) == ["llm", "llm-extraction"]
        await models.complete("", "?", purpose="contextual")
        await models.complete("", "?", purpose="extraction")
        assert [call.payload["model"] for call in talker.calls] == ["a", "b"]
    async with opened(llm_contextual_base_url=talker.url) as models:
        assert list(models.servers) == ["llm-contextual"]
        assert (models.offers("contextual"), models.offers("extraction")) == (True, False)


async def test_a_purpose_can_be_left_out(talker: Talker) -> None:
    async with opened(llm_base_url=talker.url, llm_contextual_enabled=False) as models:
        assert (models.offers("contextual"), models.offers("extraction")) == (False, True)


async def test_a_key_never_goes_to_another_server_than_its_own(talker: Talker) -> None:
    async with opened(
        llm_base_url="http://127.0.0.1:9", llm_api_key="S3CRET", llm_contextual_base_url=talker.url
    ) as models:
        await models.complete("", "?", purpose="contextual")
    assert "authorization" not in talker.calls[0].headers


async def test_no_more_run_at_once_than_the_purpose_has_places(talker: Talker) -> None:
    talker.delay_s = 0.1
    async with opened(llm_base_url=talker.url, llm_contextual_concurrency=3) as models:
        asked = [models.complete("", "?", purpose="contextual") for _ in range(9)]
        assert len(await asyncio.gather(*asked)) == 9
    assert talker.peak == 3


async def test_waiting_for_a_place_is_within_the_callers_time(talker: Talker) -> None:
    talker.delay_s = 1.0
    async with opened(llm_base_url=talker.url, llm_extraction_concurrency=1) as models:
        first = asyncio.create_task(models.complete("", "?", purpose="extraction"))
        await asyncio.sleep(0.1)
        with pytest.raises(DeadlineExceededError, match="no place"):
            await models.complete("", "?", purpose="extraction", within_s=0.2)
        await first


async def test_a_model_that_keeps_failing_is_left_alone_and_each_purpose_for_itself(
    talker: Talker,
) -> None:
    async with opened(llm_base_url=talker.url) as models:
        talker.always = Refuse(503)
        for _ in range(FAILURES):
            with pytest.raises(LlmUnavailableError):
                await models.complete("", "?", purpose="contextual")
        asked, skipped = len(talker.calls), _requests("contextual", "skipped")
        with pytest.raises(LlmUnavailableError) as alone:
            await models.complete("", "?", purpose="contextual")
        assert alone.value.code == "llm_left_alone"
        assert "503" in alone.value.message
        assert len(talker.calls) == asked
        assert _requests("contextual", "skipped") == skipped + 1
        talker.always = None
        assert await models.complete("", "?", purpose="extraction")

        await models.servers["llm"].probe()  # it answers: one question may try
        assert await models.complete("", "?", purpose="contextual")
        assert await models.complete("", "?", purpose="contextual")


async def test_a_probe_that_fails_keeps_it_closed(talker: Talker) -> None:
    async with opened(llm_base_url=talker.url, llm_api_key="right") as models:
        talker.api_key = "wrong"
        for _ in range(FAILURES):
            with pytest.raises(UpstreamError):
                await models.complete("", "?", purpose="contextual")
        with pytest.raises(UpstreamError, match="LLM_API_KEY"):
            await models.servers["llm"].probe()
        with pytest.raises(LlmUnavailableError):
            await models.complete("", "?", purpose="contextual")


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        (Say("<think>"), UpstreamError),
        (Say("a", end="length"), UpstreamError),
        (Refuse(400, b'{"error":"dirty words"}'), UpstreamError),
        (Refuse(413), LlmInputTooLongError),
    ],
)
async def test_what_is_wrong_with_one_question_is_not_held_against_the_server(
    talker: Talker, fault: Say | Refuse, expected: type[Exception]
) -> None:
    async with opened(llm_base_url=talker.url, llm_api="chat") as models:
        talker.always = fault
        for _ in range(FAILURES + 2):
            with pytest.raises(expected):
                await models.complete("", "?", purpose="contextual")
        talker.always = None
        assert await models.complete("", "?", purpose="contextual")


async def test_tokens_are_counted_also_of_answers_that_cannot_be_used(talker: Talker) -> None:
    before = {each: _tokens("extraction", each) for each in ("input", "output", "cached")}
    talker.always = Say("<think>" + "x" * 393)
    async with opened(llm_base_url=talker.url, llm_api="chat") as models:
        with pytest.raises(UpstreamError):
            await models.complete("s" * 40, "p" * 360, purpose="extraction")
    assert _tokens("extraction", "input") - before["input"] == 100
    assert _tokens("extraction", "output") - before["output"] == 101


async def test_a_server_that_counts_nothing_is_estimated(talker: Talker) -> None:
    talker.usage = False
    before = _tokens("contextual", "input")
    async with opened(llm_base_url=talker.url) as models:
        await models.complete("s" * 40, "p" * 360, purpose="contextual")
    assert _tokens("contextual", "input") - before == 100


async def test_outcomes_are_counted_by_kind(talker: Talker) -> None:
    faults = {
        "rate_limited": Refuse(429),
        "unavailable": Refuse(500),
        "refused": Refuse(403),
        "unusable": Say("<think>"),
    }
    before = {each: _requests("contextual", each) for each in faults}
    for outcome, fault in faults.items():
        async with opened(llm_base_url=talker.url) as models:
            talker.always = fault
            with pytest.raises((LlmUnavailableError, UpstreamError)):
                await models.complete("", "?", purpose="contextual")
        assert _requests("contextual", outcome) == before[outcome] + 1


def test_a_job_waits_as_long_as_the_rate_limit_asks_within_reason() -> None:
    job = ClaimedJob.__new__(ClaimedJob)
    for name, value in {"attempts": 1, "max_attempts": 10}.items():
        object.__setattr__(job, name, value)
    limited = LlmUnavailableError("Later.", code="llm_rate_limited", retry_after=90.0)
    assert judge(limited, job).again_s == 90.0
    endless = LlmUnavailableError("Later.", retry_after=10.0**6)
    assert judge(endless, job).again_s == LONGEST_ASKED_S
