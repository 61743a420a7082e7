"""One text, one vector; limits kept; known similarities of the default model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragbase_inference.embedder import BATCH_TOKENS, TextEmbedder, _batches, open_embedder
from ragbase_inference.errors import TextTooLongError
from ragbase_inference.tokens import Encoded

TEXTS = [
    "That is a happy person",
    "That is a happy dog",
    "That is a very happy person",
    "Today is a sunny day",
]
SIMILARITIES = [0.695, 0.943, 0.257]
"""Of the first to the others, as the model's page on the hub shows them."""


@pytest.fixture(scope="session")
def exact() -> TextEmbedder:
    return open_embedder("all-MiniLM-L6-v2", threads=2, precision="fp32")


def vectors(model: TextEmbedder, texts: list[str]) -> Any:
    return model.embed(model.encode_texts(texts))


def test_published_similarities_at_fp32(exact: TextEmbedder) -> None:
    got = vectors(exact, TEXTS)
    np.testing.assert_allclose(got[0] @ got[1:].T, SIMILARITIES, atol=6e-4)


def test_published_similarities_at_the_default_precision(minilm: TextEmbedder) -> None:
    got = vectors(minilm, TEXTS)
    np.testing.assert_allclose(got[0] @ got[1:].T, SIMILARITIES, atol=0.025)


def test_default_precision_stays_near_fp32(minilm: TextEmbedder, exact: TextEmbedder) -> None:
    texts = [*TEXTS, "lift of a slender wing at supersonic speed " * 20, "a", "Übermut 世界"]
    assert (vectors(minilm, texts) * vectors(exact, texts)).sum(1).min() > 0.985


@given(
    text=st.integers(1, 200).map(lambda n: ("wing flutter at high speed, " * 40)[:n]),
    others=st.lists(st.integers(1, 99).map(lambda n: "dog " * n), max_size=6),
    at=st.integers(0, 6),
)
@settings(max_examples=12, deadline=None)
@pytest.mark.parametrize("precision", ["default", "fp32"])
def test_a_vector_does_not_depend_on_its_batch(
    minilm: TextEmbedder,
    exact: TextEmbedder,
    precision: str,
    text: str,
    others: list[str],
    at: int,
) -> None:
    model = exact if precision == "fp32" else minilm
    place = min(at, len(others))
    encoded = model.encode_texts([*others[:place], text, *others[place:]])
    (alone,) = model.run_queries(encoded[place : place + 1])
    assert alone @ model.run_passages(encoded)[place] > 0.9999
    assert alone @ model.embed(encoded)[place] > 0.9999


def test_order_is_kept(minilm: TextEmbedder) -> None:
    texts = [f"{'long ' * (number * 7 % 30)}number {number}" for number in range(30)]
    together = vectors(minilm, texts)
    one_by_one = np.vstack([vectors(minilm, [text]) for text in texts])
    assert (together * one_by_one).sum(1).min() > 0.9999


def test_vectors_are_unit_float32(minilm: TextEmbedder) -> None:
    got = vectors(minilm, ["", "  ", "a", "word " * 2000])
    assert got.shape == (4, 384)
    assert got.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-6)


def test_nothing_gives_no_rows(minilm: TextEmbedder) -> None:
    assert vectors(minilm, []).shape == (0, 384)


def test_a_passage_over_the_limit_is_refused_and_named(minilm: TextEmbedder) -> None:
    minilm.encode_passages(["cat " * 254])
    with pytest.raises(TextTooLongError) as caught:
        minilm.encode_passages(["fits", "cat " * 300])
    assert (caught.value.index, caught.value.tokens, caught.value.limit) == (1, 302, 256)


def test_a_query_over_the_limit_is_cut_and_says_so(minilm: TextEmbedder) -> None:
    assert not minilm.encode_query("cat " * 254).cut
    query = minilm.encode_query("cat " * 300)
    assert query.cut
    assert len(query) == 256


def test_prefixes(make_model: Any) -> None:
    model = open_embedder(str(make_model()), threads=1, query_prefix="q ", passage_prefix="the p ")
    assert model.encode_query("cat").ids == model.encode_texts(["q cat"])[0].ids
    assert model.encode_passages(["cat"])[0].ids == model.encode_texts(["the p cat"])[0].ids
    assert model.overhead_tokens == 2 + 2
    fits = "a " * (model.config.max_tokens - model.overhead_tokens)
    model.encode_passages([fits])
    with pytest.raises(TextTooLongError):
        model.encode_passages([fits + "a"])


@given(st.lists(st.integers(1, 3000), max_size=50))
def test_batches_hold_every_row_once_within_the_budget(lengths: list[int]) -> None:
    encoded = [Encoded([0] * length) for length in sorted(lengths)]
    batches = _batches(list(range(len(encoded))), encoded)
    assert [row for rows in batches for row in rows] == list(range(len(encoded)))
    for rows in batches:
        padded = len(rows) * max(len(encoded[row]) for row in rows)
        assert padded <= BATCH_TOKENS or len(rows) == 1
