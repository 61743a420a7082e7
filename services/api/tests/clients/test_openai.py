"""OpenAiEmbedder against a server with OpenAI's route over real HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from ragbase.clients.openai import OpenAiEmbedder
from ragbase.clients.retry import RetryPolicy
from ragbase.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    InvalidInputError,
    UpstreamError,
)

LONG = " ".join(f"w{number}" for number in range(40))


@pytest.fixture
async def make(stub: Any, quick: RetryPolicy) -> AsyncIterator[Callable[..., OpenAiEmbedder]]:
    made: list[OpenAiEmbedder] = []
    stub.tei = False

    def build(**options: Any) -> OpenAiEmbedder:
        chosen: dict[str, Any] = {"url": stub.url, "model": "acme/words-12", "retry": quick}
        made.append(OpenAiEmbedder(**chosen | options))
        return made[-1]

    yield build
    for embedder in made:
        await embedder.aclose()


def test_a_model_is_required(stub: Any) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL"):
        OpenAiEmbedder(stub.url, model="")


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
async def test_the_base_url_may_be_written_in_several_ways(make: Any, stub: Any, path: str) -> None:
    assert (await make(url=stub.url + path).info()).dimension == 12


@pytest.mark.parametrize("base64", [True, False])
async def test_base64_where_it_is_understood_and_numbers_elsewhere(
    make: Any, stub: Any, base64: bool
) -> None:
    stub.base64 = base64
    embedder = make()
    vectors = await embedder.embed_passages(["a", "b c"])
    np.testing.assert_allclose(vectors, [stub.vector("a"), stub.vector("b c")], atol=1e-6)
    assert stub.calls[-1].payload["encoding_format"] == ("base64" if base64 else "float")
    assert stub.calls[-1].payload["model"] == "acme/words-12"


async def test_vectors_are_matched_by_index(make: Any, stub: Any) -> None:
    """B065: the server answers in reverse order."""
    embedder = make()
    await embedder.info()
    stub.mangle = lambda data: data[::-1]
    vectors = await embedder.embed_passages(["a", "b", "c"])
    np.testing.assert_allclose(vectors, [stub.vector(t) for t in "abc"], atol=1e-6)


@pytest.mark.parametrize(
    "mangle",
    [
        lambda data: data[:-1],
        lambda data: [*data, data[0]],
        lambda data: [data[0], *data[:-1]],
        lambda data: [{**item, "index": item["index"] + 1} for item in data],
        lambda data: [{"embedding": item["embedding"]} for item in data],
        lambda data: [{**item, "index": None} for item in data],
        lambda data: [{**item, "index": str(item["index"])} for item in data],
        lambda data: [item["embedding"] for item in data],
        lambda data: {"0": data[0]},
        lambda data: [{**item, "embedding": "!"} for item in data],
        lambda data: [{**item, "embedding": "AAA="} for item in data],
        lambda data: [{**item, "embedding": None} for item in data],
        lambda data: [{**item, "embedding": [0.0] * 12} for item in data],
    ],
    ids=[
        "one missing", "one more", "twice", "out of range", "no index", "null index",
        "text index", "bare", "object", "no base64", "half a float", "null", "zeros",
    ],
)  # fmt: skip
async def test_what_cannot_be_matched_is_refused(
    make: Any, stub: Any, mangle: Callable[[list[Any]], Any]
) -> None:
    """B065, B067: never a shifted vector, never a null."""
    embedder = make()
    await embedder.info()
    stub.mangle = mangle
    with pytest.raises(UpstreamError):
        await embedder.embed_passages(["a", "b", "c"])
    assert len(stub.texts("embeddings")) == 2


async def test_429_with_retry_after(make: Any, stub: Any, fault: Any) -> None:
    """B063."""
    embedder = make()
    await embedder.info()
    body = b'{"error":{"message":"Rate limit reached","type":"requests","code":null}}'
    stub.script.extend([fault(429, body, retry_after="0")] * 5)
    assert (await embedder.embed_passages(["a"])).shape == (1, 12)
    assert len(stub.texts("embeddings")) == 6


@pytest.mark.parametrize(
    ("status", "body", "error", "said"),
    [
        (400, b'{"error":{"message":"too long","type":"invalid_request_error"}}', InvalidInputError, "too long"),
        (422, b'{"message":"flat","code":422,"type":"Validation"}', InvalidInputError, "flat"),
        (422, b"Failed to deserialize the JSON body", UpstreamError, "deserialize"),
        (401, b'{"error":{"message":"Incorrect API key provided: sk-1***2"}}', UpstreamError, "EMBEDDING_API_KEY"),
        (404, b'{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}', UpstreamError, "does not exist"),
    ],
)  # fmt: skip
async def test_error_shapes(
    make: Any, stub: Any, fault: Any, status: int, body: bytes, error: type[Exception], said: str
) -> None:
    embedder = make()
    await embedder.info()
    stub.script.append(fault(status, body))
    with pytest.raises(error, match=said) as caught:
        await embedder.embed_passages(["a"])
    assert "sk-" not in str(caught.value)
    assert len(stub.texts("embeddings")) == 1


async def test_an_unknown_model_refuses_the_start(make: Any, stub: Any, fault: Any) -> None:
    stub.script.append(fault(404, b'{"error":{"message":"The model `x` does not exist"}}'))
    with pytest.raises(ConfigurationError, match="does not exist"):
        await make().info()


async def test_the_limit_is_what_the_server_says(make: Any, stub: Any) -> None:
    stub.models = {"data": [{"id": "other"}, {"id": "acme/words-12", "max_model_len": 4096}]}
    assert (await make().info()).max_tokens == 4096
    assert (await make(max_tokens=99).info()).max_tokens == 99


async def test_the_limit_of_hosted_models_is_known_and_others_are_taken_for_small(
    make: Any, stub: Any
) -> None:
    assert (await make(model="text-embedding-3-small").info()).max_tokens == 8191
    assert (await make().info()).max_tokens == 512


async def test_tei_behind_the_route_is_asked_for_its_facts(make: Any, stub: Any) -> None:
    stub.tei = True
    info = await make().info()
    assert (info.model, info.max_tokens) == ("acme/words-12", 16)
    with pytest.raises(ConfigurationError, match="serves acme/words-12"):
        await make(model="other").info()


async def test_long_passages_are_refused_before_they_are_sent(make: Any, stub: Any) -> None:
    """TEI cuts silently on this route, so nothing may be left to the server."""
    embedder = make(max_tokens=20)
    await embedder.info()
    stub.calls.clear()
    with pytest.raises(InvalidInputError, match=r"Text 1 has \d+ tokens"):
        await embedder.embed_passages(["short", LONG])
    assert not stub.calls


async def test_long_queries_and_plain_texts_are_cut_here(make: Any, stub: Any) -> None:
    embedder = make(max_tokens=12, query_prefix="q: ")
    vector, cut = await embedder.embed_query(LONG)
    (sent,) = stub.texts("embeddings")[-1]
    assert cut
    assert ("q: " + LONG).startswith(sent)
    assert len(sent) < 20
    np.testing.assert_allclose(vector, stub.vector(sent), atol=1e-6)
    assert (await embedder.embed_query("hi"))[1] is False
    assert (await embedder.embed_texts([LONG, ""])).shape == (2, 12)


async def test_the_limits_of_a_smaller_server_are_met_by_halving(make: Any, stub: Any) -> None:
    stub.max_batch = 5
    embedder = make()
    texts = [f"t{number}" for number in range(40)]
    vectors = await embedder.embed_passages(texts)
    np.testing.assert_allclose(vectors, [stub.vector(text) for text in texts], atol=1e-6)
    stub.calls.clear()
    await embedder.embed_passages(texts)
    assert max(map(len, stub.texts("embeddings"))) <= 5


async def test_ping_costs_no_tokens(make: Any, stub: Any, unused_tcp_port: int) -> None:
    await make().ping()  # 404: no such route, but somebody answers
    stub.models = {"data": []}
    await make().ping()
    assert {call.path for call in stub.calls} == {"v1/models"}
    stub.api_key = "other"
    with pytest.raises(EmbedderUnavailableError, match="EMBEDDING_API_KEY"):
        await make().ping()
    with pytest.raises(EmbedderUnavailableError, match="cannot be reached"):
        await make(url=f"http://127.0.0.1:{unused_tcp_port}").ping()


async def test_the_loop_is_free_while_long_texts_are_measured(make: Any, stub: Any) -> None:
    embedder = make()
    await embedder.info()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    ticker = asyncio.create_task(tick())
    with pytest.raises(InvalidInputError):
        await embedder.embed_passages(["word " * 400_000])
    ticker.cancel()
    assert ticks > 3
