"""TeiEmbedder against a server that speaks TEI's protocol over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei import TeiEmbedder
from ragbase.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    InvalidInputError,
    TooLargeError,
    UpstreamError,
)

LONG = " ".join(f"w{number}" for number in range(40))


@pytest.fixture
async def make(stub: Any, quick: RetryPolicy) -> AsyncIterator[Callable[..., TeiEmbedder]]:
    made: list[TeiEmbedder] = []

    def build(**options: Any) -> TeiEmbedder:
        chosen: dict[str, Any] = {"url": stub.url, "retry": quick}
        made.append(TeiEmbedder(**chosen | options))
        return made[-1]

    yield build
    for embedder in made:
        await embedder.aclose()


async def test_info_has_the_servers_limits_and_a_measured_dimension(make: Any, stub: Any) -> None:
    info = await make(passage_prefix="passage : ").info()
    assert (info.model, info.dimension, info.max_tokens) == ("acme/words-12", 12, 16)
    assert info.overhead_tokens == 2 + 2  # [CLS] [SEP], "passage", ":"


async def test_info_is_asked_once_by_many_callers(make: Any, stub: Any) -> None:
    embedder = make()
    await asyncio.gather(*(embedder.info() for _ in range(20)))
    assert [call.path for call in stub.calls].count("info") == 1


async def test_a_failed_info_is_not_remembered(make: Any, stub: Any, fault: Any) -> None:
    embedder = make(retry=RetryPolicy(attempts=1))
    stub.script.append(fault(503))
    with pytest.raises(EmbedderUnavailableError):
        await embedder.info()
    assert (await embedder.info()).dimension == 12


async def test_another_model_than_configured_refuses_the_start(make: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"is other/model, but .* serves acme/words-12"):
        await make(model="other/model").info()


@pytest.mark.parametrize("name", ["acme/words-12", "Acme/Words-12"])
async def test_the_configured_model_may_differ_in_case(make: Any, name: str) -> None:
    assert (await make(model=name).info()).model == "acme/words-12"


async def test_a_reranker_is_no_embedder(make: Any, stub: Any) -> None:
    stub.model_type = {"reranker": {"id2label": {"0": "LABEL_0"}}}
    with pytest.raises(ConfigurationError, match="no embedding model"):
        await make().info()


async def test_a_default_prompt_of_the_server_refuses_the_start(make: Any, stub: Any) -> None:
    stub.default_prompt = "query: "
    with pytest.raises(ConfigurationError, match="default prompt"):
        await make().info()


async def test_a_wrong_address_refuses_the_start(make: Any, stub: Any) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_URL"):
        await make(url=stub.url + "/elsewhere").info()


async def test_batches_hold_at_most_what_the_server_takes(make: Any, stub: Any) -> None:
    texts = [f"text {number}" for number in range(11)]
    vectors = await make().embed_passages(texts)
    assert sorted(map(len, stub.texts())) == [3, 4, 4]
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [stub.vector(text) for text in texts], atol=1e-6)


async def test_passages_are_never_truncated_by_the_server(make: Any, stub: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"text 2\b.*less than 16 tokens. Given: 42"):
        await make().embed_passages(["a", "b", LONG, "c"])
    flags = {call.payload["truncate"] for call in stub.calls if call.path == "embed"}
    assert flags == {False}


async def test_a_long_text_does_not_shrink_later_batches(make: Any, stub: Any) -> None:
    embedder = make()
    with pytest.raises(InvalidInputError):
        await embedder.embed_passages(["a", "b", "c", LONG])
    stub.calls.clear()
    await embedder.embed_passages(["a", "b", "c", "d"])
    assert list(map(len, stub.texts())) == [4]


async def test_a_smaller_batch_limit_is_met_by_halving_and_kept(make: Any, stub: Any) -> None:
    embedder = make()
    await embedder.info()
    stub.max_batch = 2  # another server behind the same address
    texts = list("abcdefgh")
    vectors = await embedder.embed_passages(texts)
    np.testing.assert_allclose(vectors, [stub.vector(text) for text in texts], atol=1e-6)
    stub.calls.clear()
    await embedder.embed_passages(texts)
    assert list(map(len, stub.texts())) == [2, 2, 2, 2]


async def test_too_many_bytes_are_met_by_halving(make: Any, stub: Any) -> None:
    embedder = make()
    await embedder.info()
    stub.payload_limit = 400
    texts = [letter * 150 for letter in "abcd"]
    vectors = await embedder.embed_passages(texts)
    np.testing.assert_allclose(vectors, [stub.vector(text) for text in texts], atol=1e-6)
    stub.calls.clear()
    await embedder.embed_passages(list("abcd"))
    assert list(map(len, stub.texts())) == [4]  # it was not their number
    with pytest.raises(TooLargeError, match="Text 1"):
        await embedder.embed_passages(["a", "b" * 500])


async def test_a_query_is_cut_and_says_so(make: Any, stub: Any) -> None:
    embedder = make(query_prefix="query ")
    vector, cut = await embedder.embed_query("short")
    assert not cut
    np.testing.assert_allclose(vector, stub.vector("query short"), atol=1e-6)
    vector, cut = await embedder.embed_query(LONG)
    assert cut
    np.testing.assert_allclose(vector, stub.vector("query " + LONG), atol=1e-6)


async def test_plain_texts_have_no_prefix_and_are_cut(make: Any, stub: Any) -> None:
    vectors = await make(passage_prefix="passage ").embed_texts([LONG, "", "x"])
    np.testing.assert_allclose(vectors, [stub.vector(t) for t in (LONG, "", "x")], atol=1e-6)


async def test_the_prefixes_of_known_families_are_used(make: Any, stub: Any) -> None:
    stub.model_id = "intfloat/multilingual-e5-base"
    embedder = make()
    await embedder.embed_query("hello")
    await embedder.embed_passages(["world"])
    assert stub.texts() == [["query: hello"], ["passage: world"]]


async def test_inputs_in_flight_stay_below_the_servers_permits(make: Any, stub: Any) -> None:
    """A permit is taken an input: with 8, a list of 9 is refused even by an idle server."""
    stub.permits, stub.delay_s, stub.max_batch = 8, 0.005, 32
    embedder = make()
    texts = [f"t{number}" for number in range(60)]
    await asyncio.gather(
        embedder.embed_passages(texts), *(embedder.embed_query(f"q{n}") for n in range(12))
    )
    assert 4 < stub.peak <= 6  # half for passages, a quarter for queries


async def test_one_permit_is_enough(make: Any, stub: Any) -> None:
    stub.permits = 1
    embedder = make()
    await asyncio.gather(embedder.embed_passages(list("abc")), embedder.embed_query("q"))
    assert stub.peak == 1


async def test_a_query_does_not_wait_behind_ingest(make: Any, stub: Any) -> None:
    embedder = make()
    await embedder.info()
    stub.delay_s = 0.02
    ingest = asyncio.create_task(embedder.embed_passages([f"t{n}" for n in range(400)]))
    await asyncio.sleep(0.03)
    await embedder.embed_query("q")
    assert not ingest.done()
    assert len(stub.texts()) < 20
    ingest.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ingest


async def test_429_five_times_then_success(make: Any, stub: Any, fault: Any) -> None:
    """B063: the document waits; what the server asked for is waited for."""
    embedder = make()
    await embedder.info()
    body = b'{"error":"Model is overloaded","error_type":"Overloaded"}'
    stub.script.extend([fault(429, body, retry_after="0")] * 4 + [fault(429, retry_after="1")])
    vectors = await embedder.embed_passages(["a"])
    assert vectors.shape == (1, 12)
    times = [call.at for call in stub.calls if call.path == "embed"][-6:]
    assert times[-1] - times[-2] >= 1.0
    assert times[-2] - times[0] < 1.0


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
async def test_passing_failures_are_retried(make: Any, stub: Any, fault: Any, status: int) -> None:
    """B063."""
    embedder = make()
    await embedder.info()
    stub.script.extend([fault(status), fault(status)])
    assert (await embedder.embed_passages(["a"])).shape == (1, 12)
    assert len(stub.texts()) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 424])
async def test_final_refusals_are_not_retried(
    make: Any, stub: Any, fault: Any, status: int
) -> None:
    """B063."""
    embedder = make()
    await embedder.info()
    stub.script.append(fault(status, b'{"error":"Backend error: no","error_type":"Backend"}'))
    with pytest.raises((UpstreamError, InvalidInputError)):
        await embedder.embed_passages(["a"])
    assert len(stub.texts()) == 1


async def test_a_server_that_stays_overloaded_is_reported_in_time(
    make: Any, stub: Any, fault: Any
) -> None:
    embedder = make(retry=RetryPolicy(attempts=5, first_wait_s=0.001))
    await embedder.info()
    stub.script.extend([fault(429)] * 9)
    with pytest.raises(EmbedderUnavailableError, match="429: too many requests"):
        await embedder.embed_passages(["a"])
    assert len(stub.texts()) == 5


async def test_a_wait_beyond_the_budget_is_not_begun(make: Any, stub: Any, fault: Any) -> None:
    embedder = make()
    await embedder.info()
    stub.script.append(fault(503, retry_after="3600"))
    async with asyncio.timeout(2):
        with pytest.raises(EmbedderUnavailableError):
            await embedder.embed_passages(["a"])


def _shortened(vectors: list[Any]) -> list[Any]:
    return vectors[:-1]


def _with(value: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda vectors: [*vectors[:1], value, *vectors[2:]]


async def test_a_missing_vector_never_shifts_the_others(make: Any, stub: Any) -> None:
    """B065: asked once more, then an error."""
    embedder = make()
    await embedder.info()
    stub.mangle = _shortened
    with pytest.raises(UpstreamError, match="2 vectors for 3 texts"):
        await embedder.embed_passages(["a", "b", "c"])
    assert len(stub.texts()) == 2


async def test_a_vector_missing_once_is_got_by_asking_again(make: Any, stub: Any) -> None:
    """B065."""
    embedder = make()
    await embedder.info()

    def once(vectors: list[Any]) -> list[Any]:
        stub.mangle = None
        return vectors[:-1]

    stub.mangle = once
    vectors = await embedder.embed_passages(["a", "b", "c"])
    np.testing.assert_allclose(vectors, [stub.vector(t) for t in "abc"], atol=1e-6)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([None] * 12, "else than numbers for text 1"),
        ([0.5] * 11 + [None], "else than numbers for text 1"),
        ([0.0] * 12, "zeros as the vector of text 1"),
        ([], "a vector of 0 numbers for text 1, not 12"),
        ([0.5] * 11, "a vector of 11 numbers for text 1, not 12"),
        ([1e39] * 6 + [1e200] * 6, "infinite"),
        (["0.5"] * 12, "else than numbers for text 1"),
        (None, "a vector of 0 numbers for text 1"),
    ],
    ids=["null", "one null", "zeros", "empty", "short", "huge", "strings", "no list"],
)
async def test_unusable_vectors_are_refused(make: Any, stub: Any, value: Any, said: str) -> None:
    """B067: the text is named and nothing is returned."""
    embedder = make()
    await embedder.info()
    stub.mangle = _with(value)
    with pytest.raises(UpstreamError, match=said):
        await embedder.embed_passages(["a", "b", "c"])


async def test_nan_is_no_json(make: Any, stub: Any, fault: Any) -> None:
    """B067: Python servers write NaN, which no JSON has."""
    embedder = make()
    await embedder.info()
    stub.script.extend([fault(200, b"[[NaN, 1.0]]")] * 2)
    with pytest.raises(UpstreamError, match="broken JSON"):
        await embedder.embed_passages(["a"])


@pytest.mark.parametrize(
    ("status", "body", "error", "said"),
    [
        (
            422,
            b'{"error":"Input validation error: x","error_type":"Validation"}',
            InvalidInputError,
            "error: x",
        ),
        (422, b'{"message":"flat x","code":422,"type":"Validation"}', InvalidInputError, "flat x"),
        (
            422,
            b"Failed to deserialize the JSON body: missing field `inputs`",
            UpstreamError,
            "missing field",
        ),
        (
            415,
            b"Expected request with `Content-Type: application/json`",
            UpstreamError,
            "415. Expected",
        ),
        (404, b"", UpstreamError, "base URL"),
        (405, b"", UpstreamError, "base URL"),
        (401, b"", UpstreamError, "EMBEDDING_API_KEY"),
        (
            424,
            b'{"error":"Backend error: broken","error_type":"Backend"}',
            UpstreamError,
            "error: broken",
        ),
        (307, b"", UpstreamError, "final address"),
        (418, b'["not", "a", "shape"]', UpstreamError, "418."),
    ],
)
async def test_error_shapes(
    make: Any, stub: Any, fault: Any, status: int, body: bytes, error: type[Exception], said: str
) -> None:
    embedder = make()
    await embedder.info()
    stub.script.append(fault(status, body))
    with pytest.raises(error, match=said):
        await embedder.embed_passages(["a"])


async def test_a_redirect_is_not_followed(make: Any, stub: Any, fault: Any) -> None:
    embedder = make(api_key="secret-key")
    await embedder.info()
    stub.script.append(fault(307, location=f"{stub.url}/stolen"))
    with pytest.raises(UpstreamError):
        await embedder.embed_passages(["a"])
    assert all(call.path != "stolen" for call in stub.calls)


async def test_the_key_is_sent_and_never_told(make: Any, stub: Any, fault: Any) -> None:
    stub.api_key = "secret-key"
    embedder = make(api_key="secret-key")
    await embedder.info()
    stub.script.append(fault(424, b'{"error":"bad header Bearer secret-key"}'))
    with pytest.raises(UpstreamError) as caught:
        await embedder.embed_passages(["a"])
    assert "secret-key" not in str(caught.value)
    assert "[key]" in str(caught.value)


async def test_a_wrong_key_refuses_the_start(make: Any, stub: Any) -> None:
    stub.api_key = "right"
    with pytest.raises(ConfigurationError, match="EMBEDDING_API_KEY"):
        await make(api_key="wrong").info()


async def test_ping(make: Any, stub: Any) -> None:
    embedder = make()
    await embedder.ping()
    await embedder.info()
    await embedder.ping()
    stub.model_id = "acme/other"
    with pytest.raises(EmbedderUnavailableError, match="now serves acme/other"):
        await embedder.ping()


async def test_ping_of_nobody(make: Any, unused_tcp_port: int) -> None:
    embedder = make(url=f"http://user:pass@127.0.0.1:{unused_tcp_port}")
    with pytest.raises(EmbedderUnavailableError) as caught:
        await embedder.ping()
    assert "pass" not in str(caught.value)
    assert "127.0.0.1" not in str(caught.value)


async def test_no_texts_are_no_request(make: Any, stub: Any) -> None:
    assert (await make().embed_passages([])).shape == (0, 12)
    assert stub.texts() == []
