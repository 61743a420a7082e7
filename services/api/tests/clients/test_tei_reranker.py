"""`TeiReranker` against a server with TEI's wire form, its limits, and its faults."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from typing import Any

import orjson
import pytest
import pytest_asyncio

from ragbase.clients.retry import RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.clients.tei_reranker import TeiReranker, scores_in_order
from ragbase.errors import (
    ConfigurationError,
    DeadlineExceededError,
    InvalidInputError,
    RagBaseError,
    RerankerUnavailableError,
    TooLargeError,
    UpstreamError,
)

from ..model_server import Fault, Stub, cut

ROLE = ServerRole("reranker default", "RERANKER_URL", "RERANKER_API_KEY")
TEXTS = [f"harbour {n} {'quay' * (n % 3)}" for n in range(11)]
Make = Callable[..., TeiReranker]


@pytest_asyncio.fixture
async def make(stub: Stub, quick: RetryPolicy) -> AsyncIterator[Make]:
    made: list[TeiReranker] = []
    stub.model_type = {"reranker": {"id2label": {"0": "LABEL_0"}}}

    def one(**options: Any) -> TeiReranker:
        made.append(TeiReranker(options.pop("url", stub.url), ROLE, retry=quick, **options))
        return made[-1]

    yield one
    for each in made:
        await each.aclose()


def expected(stub: Stub, texts: list[str]) -> list[float]:
    return [stub.relevance("harbour", text) for text in texts]


async def test_scores_come_in_the_order_of_the_texts(stub: Stub, make: Make) -> None:
    """TEI sends them best first, ties in descending index."""
    texts = [*TEXTS[:2], TEXTS[0]]
    assert await make().score("harbour", texts) == expected(stub, texts)
    (payload,) = [call.payload for call in stub.calls]
    assert payload == {"query": "harbour", "texts": texts, "raw_scores": False, "truncate": True}


async def test_as_many_texts_a_request_as_info_says(stub: Stub, make: Make) -> None:
    """B075, R11."""
    reranker = make()
    await reranker.ping()
    assert await reranker.score("harbour", TEXTS) == expected(stub, TEXTS)
    assert sorted(map(len, stub.texts("rerank"))) == [3, 4, 4]


@pytest.mark.parametrize("status", [413, 422])
async def test_a_batch_that_is_refused_is_halved(stub: Stub, make: Make, status: int) -> None:
    """B075."""
    stub.max_batch = 32
    stub.script.append(Fault(status, b'{"error":"too much","error_type":"Validation"}'))
    reranker = make()
    assert await reranker.score("harbour", TEXTS[:8]) == expected(stub, TEXTS[:8])
    assert await reranker.score("harbour", TEXTS[:8]) == expected(stub, TEXTS[:8])
    learned = [8, 4, 4, 4, 4] if status == 422 else [8, 4, 4, 8]
    assert list(map(len, stub.texts("rerank"))) == learned


async def test_what_a_refusal_taught_outlives_the_next_ping(stub: Stub, make: Make) -> None:
    reranker = make()
    await reranker.score("harbour", TEXTS[:8])
    await reranker.ping()
    stub.calls.clear()
    await reranker.score("harbour", TEXTS[:8])
    assert list(map(len, stub.texts("rerank"))) == [4, 4]


async def test_a_batch_set_by_hand_is_kept(stub: Stub, make: Make) -> None:
    reranker = make(batch=3)
    await reranker.ping()
    await reranker.score("harbour", TEXTS[:6])
    assert list(map(len, stub.texts("rerank"))) == [3, 3]


async def test_two_hundred_texts_are_scored_with_teis_defaults(stub: Stub, make: Make) -> None:
    """B075."""
    stub.max_batch = 32
    texts = [f"harbour {n}" for n in range(200)]
    assert await make().score("harbour", texts) == expected(stub, texts)
    assert sorted(map(len, stub.texts("rerank"))) == [8, *[32] * 6]


async def test_large_texts_are_split_by_bytes_and_cut_where_they_are_alone_too_large(
    stub: Stub, make: Make
) -> None:
    """B075: 413."""
    stub.max_batch, stub.payload_limit = 32, 500_000
    texts = ["harbour " + "x" * 300_000, "harbour " + "y" * 600_000, "harbour"]
    scores = await make().score("harbour", texts)
    assert len(scores) == 3
    assert scores[2] == stub.relevance("harbour", "harbour")
    assert min(scores) >= 0.5


async def test_no_more_is_sent_than_the_model_reads(stub: Stub, make: Make) -> None:
    reranker = make()
    await reranker.ping()
    await reranker.score("harbour", ["x" * 10_000])
    assert [len(text) for texts in stub.texts("rerank") for text in texts] == [250 * 16]


async def test_a_sidecar_without_info_is_served_too(stub: Stub, make: Make) -> None:
    """Contract §13: `/rerank` and `/health` is all it has."""
    stub.sidecar = True
    reranker = make(model="Qwen/Qwen3-Reranker-4B")
    await reranker.ping()
    assert (await reranker.info()).model == "Qwen/Qwen3-Reranker-4B"
    assert await reranker.score("harbour", TEXTS) == expected(stub, TEXTS)
    assert await reranker.score("harbour", []) == []


async def test_a_moment_of_overload_is_waited_out(stub: Stub, make: Make) -> None:
    stub.script += [Fault(429), Fault(503), Fault(429, retry_after="0")]
    assert await make().score("harbour", TEXTS[:2]) == expected(stub, TEXTS[:2])


JSON_503 = Fault(503, b'{"detail":"model not loaded"}', content_type="application/json")
HTML = b"<html><h1>502 Bad Gateway</h1></html>"


@pytest.mark.parametrize(
    ("fault", "error", "status"),
    [
        (Fault(429), RerankerUnavailableError, 429),
        (JSON_503, RerankerUnavailableError, 503),
        (Fault(502, HTML, content_type="text/html"), RerankerUnavailableError, 502),
        (cut(), RerankerUnavailableError, None),
        (Fault(200, HTML, content_type="text/html"), UpstreamError, None),
        (Fault(424, b'{"error":"NaN","error_type":"Backend"}'), UpstreamError, 424),
        (Fault(401), UpstreamError, 401),
        (Fault(404), UpstreamError, 404),
    ],
    ids=["429", "503", "502", "cut", "html", "424", "401", "404"],
)
async def test_a_server_that_fails_says_so_by_an_error_of_ours(
    stub: Stub, make: Make, fault: Fault, error: type[RagBaseError], status: int | None
) -> None:
    """B071, B073: a 503 with a JSON body is no empty ranking."""
    stub.script += [fault] * 10
    with pytest.raises(error, match="reranker default") as caught:
        await make().score("harbour", TEXTS[:2])
    assert getattr(caught.value, "http_status", None) == status
    stub.script.clear()
    assert await make().score("harbour", TEXTS[:2]) == expected(stub, TEXTS[:2])


def rows(*pairs: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"index": index, "score": score} for index, score in pairs]


UNUSABLE: dict[str, Any] = {
    "nothing": [],
    "too few": rows((0, 0.5)),
    "too many": rows((0, 0.5), (1, 0.5), (2, 0.5)),
    "doubled": rows((0, 0.5), (0, 0.4)),
    "beyond": rows((0, 0.5), (2, 0.5)),
    "negative": rows((0, 0.5), (-1, 0.5)),
    "index as text": rows((0, 0.5), ("1", 0.5)),
    "index as flag": rows((0, 0.5), (True, 0.5)),
    "null": rows((0, 0.5), (1, None)),
    "text": rows((0, 0.5), (1, "high")),
    "flag": rows((0, 0.5), (1, True)),
    "raw scores": rows((0, 0.5), (1, 7.2)),
    "no index": [{"score": 0.5}, {"score": 0.4}],
    "no score": [{"index": 0}, {"index": 1}],
    "numbers": [0.5, 0.4],
    "error": {"error": "overloaded"},
    "null body": None,
}


@pytest.mark.parametrize("answer", UNUSABLE.values(), ids=UNUSABLE.keys())
async def test_unusable_scores_are_an_error_after_one_more_try(
    stub: Stub, make: Make, answer: Any
) -> None:
    """B073: nothing is aligned by chance."""
    stub.mangle = lambda _: answer
    with pytest.raises(UpstreamError):
        await make().score("harbour", TEXTS[:2])
    assert len(stub.texts("rerank")) == 2


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"1e999"])
async def test_numbers_that_are_none_are_an_error(stub: Stub, make: Make, literal: bytes) -> None:
    """B073; JSON has no NaN, but servers write it."""
    body = b'[{"index":0,"score":0.5},{"index":1,"score":%b}]' % literal
    stub.script += [Fault(200, body)] * 2
    with pytest.raises(UpstreamError):
        await make().score("harbour", TEXTS[:2])
    with pytest.raises(UpstreamError):
        scores_in_order(rows((0, math.nan)), 1, "reranker")


async def test_a_slow_server_is_given_up_in_time(stub: Stub, make: Make) -> None:
    """B071."""
    stub.delay_s = 30
    async with asyncio.timeout(5):
        with pytest.raises(DeadlineExceededError, match="reranker default") as caught:
            await make(timeout_s=0.1).score("harbour", TEXTS[:2])
    assert caught.value.code == "rerank_timeout"


async def test_an_absent_server_is_reported_soon(make: Make, unused_tcp_port: int) -> None:
    reranker = make(url=f"http://127.0.0.1:{unused_tcp_port}")
    for call in (reranker.ping(), reranker.score("q", ["text"]), reranker.info()):
        with pytest.raises(RerankerUnavailableError, match="cannot be reached"):
            await call


async def test_what_is_wrong_with_a_text_is_the_callers_error(stub: Stub, make: Make) -> None:
    """R43: 4xx is passed on."""
    refusal = orjson.dumps({"error": "`texts` holds an emoji", "error_type": "Validation"})
    stub.script.append(Fault(422, refusal))
    with pytest.raises(InvalidInputError, match="holds an emoji"):
        await make().score("harbour", ["one"])
    stub.script.append(Fault(413))
    with pytest.raises(TooLargeError, match="too large for the reranker default"):
        await make().score("harbour", ["one"])


async def test_another_model_than_the_configured_one_is_not_used(stub: Stub, make: Make) -> None:
    reranker = make(model="BAAI/bge-reranker-v2-m3")
    with pytest.raises(RerankerUnavailableError, match="should serve BAAI/bge-reranker-v2-m3"):
        await reranker.ping()
    with pytest.raises(RerankerUnavailableError, match=stub.model_id):
        await reranker.score("harbour", TEXTS[:1])
    stub.model_id = "baai/BGE-reranker-v2-m3"
    await reranker.ping()
    assert await reranker.score("harbour", TEXTS[:1]) == expected(stub, TEXTS[:1])


async def test_a_server_of_another_kind_is_not_used(stub: Stub, make: Make) -> None:
    stub.model_type = {"embedding": {"pooling": "mean"}}
    with pytest.raises(RerankerUnavailableError, match="which is no reranker"):
        await make().ping()


async def test_inputs_in_flight_stay_below_the_servers_permits(stub: Stub, make: Make) -> None:
    stub.permits, stub.max_batch, stub.delay_s = 16, 4, 0.01
    reranker = make()
    await reranker.ping()
    await asyncio.gather(*(reranker.score("harbour", TEXTS[:8]) for _ in range(8)))
    assert stub.peak == 8


async def test_the_key_goes_into_a_header_and_into_no_message(stub: Stub, make: Make) -> None:
    stub.api_key = "s3cret"
    assert await make(api_key="s3cret").score("harbour", TEXTS[:1]) == expected(stub, TEXTS[:1])
    with pytest.raises(UpstreamError, match="RERANKER_API_KEY") as caught:
        await make(api_key="wr0ng").ping()
    assert "wr0ng" not in str(caught.value)


def test_an_unusable_address_names_its_setting() -> None:
    with pytest.raises(ConfigurationError, match="RERANKER_URL must begin with http"):
        TeiReranker("reranker:80", ROLE)
