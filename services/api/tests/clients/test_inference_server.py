"""The clients of TEI against our own server of its protocol, with real models behind it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest
import uvicorn

from ragbase.clients.inprocess import open_inprocess
from ragbase.clients.inprocess_reranker import open_inprocess_reranker
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.clients.tei import TeiEmbedder
from ragbase.clients.tei_reranker import TeiReranker
from ragbase.errors import ConfigurationError, EmbedderUnavailableError, InvalidInputError
from ragbase_inference.server.run import bind, open_from, run_server
from ragbase_inference.server.settings import ServerSettings

from ..tiny_reranker import write_reranker

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
TEXTS = ["The harbour lies in the north.", "Ünïcödé – 漢字 😀", "ends.", "   ", "a b"]
LONG = " ".join(["word"] * 600)
ROLE = ServerRole("reranker default", "RERANKER_URL", "RERANKER_API_KEY")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGBASE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def reranker_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reranker(tmp_path_factory.mktemp("reranker"))


@pytest.fixture(scope="module")
def server(_cache: None, reranker_folder: Path) -> Iterator[str]:
    """URL of a server of MiniLM and a small reranker, with a key."""
    settings = ServerSettings(
        model=(f"minilm={MINILM}", f"small={reranker_folder}"),
        api_key="secret",
        max_client_batch_size=8,
        threads=1,
    )
    ready, servers = threading.Event(), list[uvicorn.Server]()

    def on_ready(one: uvicorn.Server) -> None:
        servers.append(one)
        ready.set()

    with bind("127.0.0.1", 0) as listener:
        thread = threading.Thread(
            target=run_server, args=(settings, listener, open_from(settings), on_ready)
        )
        thread.start()
        assert ready.wait(60)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        servers[0].should_exit = True
        thread.join(30)


@pytest.fixture
async def embedder(server: str, quick: RetryPolicy) -> AsyncIterator[TeiEmbedder]:
    made = TeiEmbedder(server, api_key="secret", model=MINILM, retry=quick)
    yield made
    await made.aclose()


@pytest.fixture
async def reranker(server: str, quick: RetryPolicy) -> AsyncIterator[TeiReranker]:
    made = TeiReranker(f"{server}/models/small", ROLE, api_key="secret", retry=quick)
    yield made
    await made.aclose()


async def test_the_embedder_learns_what_it_needs(embedder: TeiEmbedder) -> None:
    info = await embedder.info()
    assert (info.model, info.dimension, info.max_tokens) == (MINILM, 384, 256)
    assert info.overhead_tokens == 2
    await embedder.ping()


async def test_vectors_are_those_of_the_model_in_this_process(embedder: TeiEmbedder) -> None:
    here = await open_inprocess(MINILM, threads=1)
    texts = TEXTS * 5  # more than a request may have
    np.testing.assert_allclose(
        await embedder.embed_passages(texts), await here.embed_passages(texts), atol=1e-5
    )
    for text in ("where do boats tie up?", LONG):
        remote, local = await embedder.embed_query(text), await here.embed_query(text)
        np.testing.assert_allclose(remote[0], local[0], atol=1e-5)
        assert remote[1] == (text == LONG)
    await here.aclose()


async def test_tokens_are_those_of_the_model_in_this_process(embedder: TeiEmbedder) -> None:
    here = await open_inprocess(MINILM, threads=1)
    for text in (*TEXTS, LONG):
        local = here.tokenizer.spans(text)
        remote = await asyncio.to_thread(embedder.tokenizer.spans, text)
        np.testing.assert_array_equal(remote, local)
    await here.aclose()


async def test_a_passage_too_long_is_named(embedder: TeiEmbedder) -> None:
    with pytest.raises(InvalidInputError, match=r"text 2\b.*less than 256 tokens. Given: 602"):
        await embedder.embed_passages(["a", "b", LONG])


async def test_scores_are_those_of_the_model_in_this_process(
    reranker: TeiReranker, reranker_folder: Path
) -> None:
    here = await open_inprocess_reranker(str(reranker_folder), threads=1)
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS * 5)]
    np.testing.assert_allclose(
        await reranker.score("a b", texts), await here.score("a b", texts), atol=1e-5
    )
    assert (await reranker.info()).model == str(reranker_folder)
    await reranker.ping()
    await here.aclose()


async def test_a_wrong_key_refuses_the_start(server: str, quick: RetryPolicy) -> None:
    embedder = TeiEmbedder(server, api_key="other", retry=quick)
    with pytest.raises((ConfigurationError, EmbedderUnavailableError), match="401"):
        await embedder.info()
    await embedder.aclose()


async def test_a_reranker_is_no_embedder(server: str, quick: RetryPolicy) -> None:
    embedder = TeiEmbedder(f"{server}/models/small", api_key="secret", retry=quick)
    with pytest.raises(ConfigurationError, match="no embedding model"):
        await embedder.info()
    await embedder.aclose()
