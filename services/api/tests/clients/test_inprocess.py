"""The in-process embedder as the API sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragbase.clients.embedder import Embedder
from ragbase.clients.inprocess import InProcessEmbedder, open_inprocess
from ragbase.errors import (
    ConfigurationError,
    EmbedderUnavailableError,
    InvalidInputError,
    OverloadedError,
    UpstreamError,
)
from ragbase_inference.embedder import TextEmbedder

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
WIDTH = 384


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGBASE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
async def embedder(_cache: None) -> AsyncIterator[InProcessEmbedder]:
    opened = await open_inprocess(MODEL, threads=2)
    yield opened
    await opened.aclose()


async def test_it_is_an_embedder(embedder: InProcessEmbedder) -> None:
    typed: Embedder = embedder
    info = await typed.info()
    assert (info.model, info.dimension, info.max_tokens, info.passage_tokens) == (
        MODEL,
        WIDTH,
        256,
        254,
    )
    await typed.ping()


async def test_a_query_finds_its_passage(embedder: InProcessEmbedder) -> None:
    passages = await embedder.embed_passages(["Cats purr.", "Ships sail.", "Bread is baked."])
    query, cut = await embedder.embed_query("which animal purrs?")
    assert not cut
    assert query.shape == (WIDTH,)
    assert passages.shape == (3, WIDTH)
    assert passages.dtype == query.dtype == np.float32
    assert int(np.argmax(passages @ query)) == 0


async def test_a_query_and_the_same_text_as_a_passage_agree(embedder: InProcessEmbedder) -> None:
    text = "lift of a slender wing at supersonic speed"
    query, _ = await embedder.embed_query(text)
    passages = await embedder.embed_passages(["short", text, "word " * 200])
    texts = await embedder.embed_texts([text])
    assert query @ passages[1] > 0.9999
    assert query @ texts[0] > 0.9999


async def test_a_query_over_the_limit_is_cut_and_says_so(embedder: InProcessEmbedder) -> None:
    long, cut = await embedder.embed_query("cat " * 2000)
    fits, whole = await embedder.embed_query("cat " * 254)
    assert (cut, whole) == (True, False)
    assert long @ fits > 0.9999


async def test_a_passage_over_the_limit_is_refused(embedder: InProcessEmbedder) -> None:
    with pytest.raises(InvalidInputError, match="text 1 has 302 tokens") as caught:
        await embedder.embed_passages(["fits", "cat " * 300])
    assert caught.value.code == "text_too_long"
    assert (await embedder.embed_texts(["cat " * 300])).shape == (1, WIDTH)


async def test_no_texts_give_no_rows(embedder: InProcessEmbedder) -> None:
    assert (await embedder.embed_passages([])).shape == (0, WIDTH)


async def test_many_passages_keep_their_order(embedder: InProcessEmbedder) -> None:
    texts = [f"{'word ' * (number * 7 % 23)}number {number}" for number in range(150)]
    together = await embedder.embed_passages(texts)
    alone = np.vstack([(await embedder.embed_query(text))[0] for text in texts[::10]])
    assert (together[::10] * alone).sum(1).min() > 0.9999


async def test_tokens_are_the_models(embedder: InProcessEmbedder) -> None:
    text = "naïve 👩‍🚀 cats, 世界"
    spans = embedder.tokenizer.spans(text)
    assert embedder.tokenizer.count([text, ""]) == [len(spans), 0]
    assert text[spans[-1, 0] : spans[-1, 1]] == "界"


async def test_prefixes_from_the_settings_replace_the_models() -> None:
    opened = await open_inprocess(MODEL, threads=1, query_prefix="q: ", passage_prefix="p: ")
    try:
        query, _ = await opened.embed_query("cats")
        (passage,) = await opened.embed_passages(["cats"])
        plain = await opened.embed_texts(["q: cats", "p: cats", "cats"])
        assert (await opened.info()).overhead_tokens == 2 + 2
    finally:
        await opened.aclose()
    assert query @ plain[0] > 0.9999
    assert passage @ plain[1] > 0.9999
    assert query @ plain[2] < 0.9999


async def test_queries_do_not_wait_behind_passages(embedder: InProcessEmbedder) -> None:
    """The model takes a while for 60 passages; a query comes back long before they do."""
    bulk = asyncio.create_task(embedder.embed_passages(["word " * 120] * 60))
    await asyncio.sleep(0.1)
    began = time.perf_counter()
    await embedder.embed_query("which animal purrs?")
    waited = time.perf_counter() - began
    assert not bulk.done()
    await bulk
    assert waited < (time.perf_counter() - began) / 4


@pytest.mark.parametrize("model", ["./nowhere", "not a model!"])
async def test_a_model_that_cannot_be_had_stops_the_start(model: str) -> None:
    with pytest.raises(ConfigurationError, match="EMBEDDING_MODEL="):
        await open_inprocess(model)


class Broken:
    """The model behind `InProcessEmbedder`, answering with what it is given."""

    def __init__(self, real: TextEmbedder, answer: Any) -> None:
        self._real = real
        self._answer = answer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def run_queries(self, batch: Any) -> Any:
        return self._answer(batch)

    run_passages = run_queries


@pytest.mark.parametrize(
    "row",
    [np.full(WIDTH, np.nan), np.full(WIDTH, np.inf), np.zeros(WIDTH)],
    ids=["nan", "infinite", "zero"],
)
async def test_vectors_that_cannot_be_used_are_refused(
    embedder: InProcessEmbedder, row: Any
) -> None:
    """B067: no such vector reaches the store, from a query or from one passage of several."""
    good = np.ones(WIDTH)
    broken: Any = Broken(
        embedder._embedder, lambda batch: [good] * (len(batch) - 1) + [row.astype(np.float32)]
    )
    bad = InProcessEmbedder(broken)
    with pytest.raises(UpstreamError):
        await bad.embed_query("a")
    with pytest.raises(UpstreamError):
        await bad.embed_passages(["a", "b", "c"])
    await bad.aclose()


async def test_too_few_vectors_are_an_error(embedder: InProcessEmbedder) -> None:
    """B065: never a shifted vector."""
    broken: Any = Broken(embedder._embedder, lambda batch: [np.ones(WIDTH)] * (len(batch) - 1))
    bad = InProcessEmbedder(broken)
    with pytest.raises(EmbedderUnavailableError):
        await bad.embed_passages(["a", "b"])
    await bad.aclose()


async def test_more_queries_than_can_wait_are_refused(embedder: InProcessEmbedder) -> None:
    queries = [embedder.embed_query(f"query {number}") for number in range(300)]
    results = await asyncio.gather(*queries, return_exceptions=True)
    refused = [result for result in results if isinstance(result, OverloadedError)]
    assert 0 < len(refused) < 300
    answered = [result for result in results if not isinstance(result, BaseException)]
    assert len(answered) + len(refused) == 300


async def test_after_closing_it_is_unavailable(tmp_path: Path) -> None:
    opened = await open_inprocess(MODEL, threads=1)
    await opened.aclose()
    with pytest.raises(EmbedderUnavailableError):
        await opened.ping()
