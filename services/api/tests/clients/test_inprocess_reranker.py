"""The reranker of this process as the API sees it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragbase.clients.inprocess_reranker import (
    InProcessReranker,
    open_inprocess_reranker,
    reranker_is_at_hand,
)
from ragbase.clients.reranker import Reranker
from ragbase.errors import ConfigurationError, RerankerUnavailableError, UpstreamError
from ragbase_inference.errors import ModelFailedError

from ..tiny_reranker import write_reranker

TEXTS = ["a b c", "d", "e f g h " * 20, "x y z", "b"]


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGBASE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reranker(tmp_path_factory.mktemp("reranker"))


@pytest.fixture
async def reranker(folder: Path, _cache: None) -> AsyncIterator[InProcessReranker]:
    opened = await open_inprocess_reranker(str(folder), threads=1)
    yield opened
    await opened.aclose()


async def test_it_is_a_reranker(reranker: InProcessReranker, folder: Path) -> None:
    typed: Reranker = reranker
    info = await typed.info()
    assert (info.model, info.max_tokens) == (str(folder), 32)
    await typed.ping()


async def test_scores_come_in_order_between_0_and_1(reranker: InProcessReranker) -> None:
    together = await reranker.score("a", TEXTS)
    alone = [(await reranker.score("a", [text]))[0] for text in TEXTS]
    np.testing.assert_allclose(together, alone, atol=1e-6)
    assert all(0 < score < 1 for score in together)
    assert len(set(together)) == len(TEXTS)
    assert await reranker.score("a", []) == []


async def test_a_score_is_the_sigmoid_of_the_logit_whatever_else_is_scored(
    reranker: InProcessReranker,
) -> None:
    """A value of the call never decides how the others are scaled (contract R41)."""
    model: Any = reranker._model
    (encoded,) = model.encode_pairs([("a", "b")], cut="right")
    logit = model.logits([encoded]).item()
    (score, _) = await reranker.score("a", ["b", "x y z"])
    assert score == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-6)


async def test_two_hundred_texts_and_many_calls_at_once(reranker: InProcessReranker) -> None:
    texts = [f"{'a b ' * (number % 9)}c" for number in range(200)]
    calls = [reranker.score("q", texts[:count]) for count in (200, 1, 50)]
    many, one, fifty = await asyncio.gather(*calls)
    np.testing.assert_allclose(many[:50], fifty, atol=1e-6)
    np.testing.assert_allclose(many[:1], one, atol=1e-6)


async def test_scores_that_are_not_finite_are_an_error(
    reranker: InProcessReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B067: NaN is never sorted."""
    nan = np.full((1, 1), np.nan, np.float32)
    monkeypatch.setattr(reranker._model, "logits", lambda batch: nan.repeat(len(batch), 0))
    with pytest.raises(UpstreamError, match="not finite"):
        await reranker.score("a", TEXTS)


async def test_a_model_that_fails_is_unavailable(
    reranker: InProcessReranker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B071: search goes on without."""

    def fail(_: Any) -> Any:
        raise ModelFailedError("broken")

    monkeypatch.setattr(reranker._model, "logits", fail)
    with pytest.raises(RerankerUnavailableError):
        await reranker.score("a", TEXTS)


async def test_a_closed_reranker_says_so(folder: Path) -> None:
    opened = await open_inprocess_reranker(str(folder), threads=1)
    await opened.aclose()
    with pytest.raises(RerankerUnavailableError, match="closed"):
        await opened.score("a", ["b"])


async def test_one_that_cannot_be_had_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigurationError, match="ms-marco-MiniLM-L6-v2 on a machine"):
        await open_inprocess_reranker("nobody/none")
    assert not await reranker_is_at_hand("nobody/none")


async def test_what_is_at_hand_is_told_without_a_request(folder: Path, tmp_path: Path) -> None:
    assert await reranker_is_at_hand(str(folder))
    assert not await reranker_is_at_hand(str(tmp_path / "nowhere"))


async def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="classifier"):
        await open_inprocess_reranker(str(write_reranker(tmp_path, labels=3)))
    with pytest.raises(ConfigurationError, match="embedding"):
        await open_inprocess_reranker("sentence-transformers/all-MiniLM-L6-v2")
