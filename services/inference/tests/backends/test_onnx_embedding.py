"""Embedding models as the server asks for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragbase_inference.backends.onnx_embedding import OnnxEmbedding
from ragbase_inference.backends.open import open_model
from ragbase_inference.embedder import TextEmbedder
from ragbase_inference.errors import ClosedError, NotFiniteError, TextTooLongError
from ragbase_inference.finite import check_finite
from ragbase_inference.pooling import unit_rows

from ..test_encoder import reference

TEXTS = ["the cat", "a b c d e f g h", "q", "cats " * 40]


def opened(model: str | Path, **options: Any) -> OnnxEmbedding:
    found = open_model(str(model), backend="onnx", **{"threads": 1, **options})
    assert isinstance(found, OnnxEmbedding)
    return found


@pytest.mark.parametrize("model_type", ["bert", "roberta", "xlm-roberta", "distilbert"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "lasttoken"])
def test_vectors_equal_the_reference(make_model: Any, model_type: str, pooling: Any) -> None:
    folder = make_model(model_type)
    model = opened(folder, pooling=pooling)
    assert model.facts.pooling == pooling
    encoded = model.encode(TEXTS, cut="right")
    for one, got in zip(encoded, model.embed(encoded), strict=True):
        hidden = reference(folder, one.ids, "gelu")
        want = {"mean": hidden.mean(0), "cls": hidden[0], "lasttoken": hidden[-1]}[pooling]
        np.testing.assert_allclose(got, want, atol=1e-4)


def test_every_token_has_its_hidden_state(make_model: Any) -> None:
    folder = make_model()
    model = opened(folder)
    encoded = model.encode(TEXTS, cut="right")
    for one, got in zip(encoded, model.embed_tokens(encoded), strict=True):
        assert got.shape == (len(one), model.facts.dimension)
        np.testing.assert_allclose(got, reference(folder, one.ids, "gelu"), atol=1e-4)


def test_it_gives_the_vectors_of_the_embedder(minilm: TextEmbedder) -> None:
    """Apart from their length: the caller decides whether they are normalised."""
    model = opened("all-MiniLM-L6-v2", threads=2)
    texts = ["That is a happy person", "dog " * 100]
    vectors = model.embed(model.encode(texts, cut="right"))
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).min() > 0.1
    want = minilm.embed(minilm.encode_texts(texts))
    np.testing.assert_allclose(unit_rows(vectors), want, atol=1e-5)
    assert (model.facts.model, model.facts.dimension, model.facts.max_tokens) == (
        "sentence-transformers/all-MiniLM-L6-v2",
        384,
        256,
    )
    assert model.facts.dtype == "int8"


@pytest.mark.parametrize("rows", [1, 3, 32, 200])
def test_a_vector_does_not_depend_on_its_batch(make_model: Any, rows: int) -> None:
    model = opened(make_model())
    encoded = model.encode(["a b c " * (1 + number % 6) for number in range(rows)], cut="right")
    alone = np.concatenate([model.embed([one]) for one in encoded])
    np.testing.assert_allclose(model.embed(encoded), alone, atol=1e-5)


def test_long_texts_are_cut_at_either_end_or_refused(make_model: Any) -> None:
    model = opened(make_model())
    text = "a b c d e f " * 10
    (left,), (right,) = (model.encode([text], cut=side) for side in ("left", "right"))
    assert len(left) == len(right) == 24
    assert left.ids[1:-1] == [4, 5, 6, 7, 8, 9][2:] + [4, 5, 6, 7, 8, 9] * 3
    assert right.ids[1:-1] == [4, 5, 6, 7, 8, 9] * 3 + [4, 5, 6, 7]
    with pytest.raises(TextTooLongError) as caught:
        model.encode(["a", text], cut=None)
    assert (caught.value.index, caught.value.tokens, caught.value.limit) == (1, 62, 24)


def test_prompts_are_those_of_the_files(make_model: Any) -> None:
    folder = make_model()
    assert (opened(folder).prompts, opened(folder).default_prompt) == ({}, None)
    prompts = {"query": "q: ", "document": "d: "}
    settings = folder / "config_sentence_transformers.json"
    settings.write_text(json.dumps({"prompts": prompts, "default_prompt_name": "document"}))
    model = opened(folder)
    assert (dict(model.prompts), model.default_prompt) == (prompts, "document")
    settings.write_text(json.dumps({"prompts": prompts, "default_prompt_name": "none such"}))
    assert opened(folder).default_prompt is None


def test_a_closed_model_says_so(make_model: Any) -> None:
    model = opened(make_model())
    encoded = model.encode(["a"], cut=None)
    assert model.memory_bytes() > 10_000
    model.close()
    model.close()
    assert model.memory_bytes() == 0
    with pytest.raises(ClosedError):
        model.embed(encoded)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_an_error(number: float) -> None:
    """B067: such a vector reaches nobody."""
    check_finite(np.array([0.0, 1e30]))
    with pytest.raises(NotFiniteError):
        check_finite(np.array([0.0, number]))
