"""Embeddings of the torch backend against transformers and sentence-transformers themselves."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from ragbase_inference.errors import ClosedError, ModelUnavailableError, TextTooLongError

from .conftest import Open
from .models import FAMILIES, make_embedding, minilm_folder, sentence_model
from .texts import LONG, TEXTS, texts


def direct(folder: Path, given: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """Hidden states and mask, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    inputs = tokenizer(given, padding=True, truncation=True, max_length=128, return_tensors="pt")
    with torch.inference_mode():
        hidden = AutoModel.from_pretrained(folder).eval()(**inputs).last_hidden_state
    return hidden, inputs["attention_mask"]


def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_are_those_of_transformers_pooled_by_hand(
    family: str, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_embedding, family)
    model = opened(folder)
    hidden, mask = direct(folder, TEXTS)
    weights = mask[..., None].float()
    expected = ((hidden * weights).sum(1) / weights.sum(1)).numpy()
    found = model.embed(model.encode(TEXTS, cut="right"))
    assert found.shape == (len(TEXTS), model.facts.dimension)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("pooling", ["cls", "max", "mean_sqrt_len_tokens", "lasttoken"])
def test_every_pooling_is_that_of_sentence_transformers(
    pooling: str, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_embedding, pooling=pooling)
    model = opened(folder)
    assert model.facts.pooling == pooling
    expected = sentence_model(folder).encode(TEXTS)
    np.testing.assert_allclose(
        unit(model.embed(model.encode(TEXTS, cut="right"))), expected, atol=1e-4
    )


def test_a_pooling_asked_for_wins_over_that_of_the_files(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_embedding), pooling="cls")
    hidden, _ = direct(models(make_embedding), TEXTS)
    assert model.facts.pooling == "cls"
    found = model.embed(model.encode(TEXTS, cut="right"))
    np.testing.assert_allclose(found, hidden[:, 0].numpy(), atol=1e-4)


def test_a_bare_encoder_is_pooled_by_the_mean(models: Callable[..., Path], opened: Open) -> None:
    bare, whole = opened(models(make_embedding, pooling=None)), opened(models(make_embedding))
    assert bare.facts.pooling == "mean"
    encoded = whole.encode(TEXTS, cut="right")
    np.testing.assert_allclose(bare.embed(encoded), whole.embed(encoded), atol=1e-6)


def test_modules_after_the_pooling_have_their_part(
    tmp_path: Path, models: Callable[..., Path], opened: Open
) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense

    encoder, pooling, normalize = list(sentence_model(models(make_embedding)))
    torch.manual_seed(5)
    whole = SentenceTransformer(modules=[encoder, pooling, Dense(32, 16), normalize], device="cpu")
    whole.save(str(tmp_path))
    model = opened(tmp_path)
    assert model.facts.dimension == 16
    found = unit(model.embed(model.encode(TEXTS, cut="right")))
    np.testing.assert_allclose(found, whole.encode(TEXTS), atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 200])
def test_a_vector_does_not_depend_on_its_batch(
    size: int, models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_embedding))
    encoded = model.encode(texts(200), cut="right")
    alone = np.vstack([model.embed([one]) for one in encoded[:size][-7:]])
    np.testing.assert_allclose(model.embed(encoded[:size])[-7:], alone, atol=1e-4)


def test_states_of_all_tokens_are_those_of_the_encoder(
    models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_embedding)
    model = opened(folder)
    hidden, mask = direct(folder, TEXTS)
    found = model.embed_tokens(model.encode(TEXTS, cut="right"))
    for row, states in enumerate(found):
        np.testing.assert_allclose(states, hidden[row, : int(mask[row].sum())].numpy(), atol=1e-4)


def test_too_long_texts_are_cut_on_the_side_asked_for_or_refused(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_embedding))
    (right,), (left,) = model.encode([LONG], cut="right"), model.encode([LONG], cut="left")
    assert len(right) == len(left) == model.facts.max_tokens == 128
    assert right.cut
    assert right.ids != left.ids
    with pytest.raises(TextTooLongError):
        model.encode(["short", LONG], cut=None)


def test_minilm_is_sentence_transformers_own(opened: Open) -> None:
    model = opened("sentence-transformers/all-MiniLM-L6-v2")
    expected = sentence_model(minilm_folder()).encode(TEXTS)
    np.testing.assert_allclose(
        unit(model.embed(model.encode(TEXTS, cut="right"))), expected, atol=1e-4
    )
    assert (model.facts.dimension, model.facts.max_tokens, model.facts.device) == (384, 256, "cpu")


def test_a_model_with_an_old_vocabulary_file_has_the_same_tokens(
    tmp_path: Path, opened: Open
) -> None:
    folder = tmp_path / "old"
    shutil.copytree(minilm_folder(), folder, ignore=shutil.ignore_patterns("tokenizer.json"))
    old, new = opened(folder), opened("sentence-transformers/all-MiniLM-L6-v2")
    assert old.encode(TEXTS, cut="right") == new.encode(TEXTS, cut="right")


def test_half_precision_stays_near_and_pools_in_single(
    models: Callable[..., Path], opened: Open
) -> None:
    exact, half = opened(models(make_embedding)), opened(models(make_embedding), dtype="bfloat16")
    assert half.facts.dtype == "bfloat16"
    assert half.memory_bytes() < 0.6 * exact.memory_bytes()
    encoded = exact.encode(texts(20), cut="right")
    cosines = (unit(exact.embed(encoded)) * unit(half.embed(encoded))).sum(axis=1)
    assert cosines.min() > 0.999


def test_torch_uses_its_own_attention_kernels(models: Callable[..., Path]) -> None:
    encoder = sentence_model(models(make_embedding))[0].auto_model
    assert encoder.config._attn_implementation == "sdpa"


def test_a_closed_model_holds_nothing_and_says_so(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_embedding))
    encoded = model.encode(["a"], cut="right")
    assert model.memory_bytes() > 30_000 * 32 * 4
    weight = weakref.ref(next(model._module.parameters()))
    model.close()
    model.close()
    assert model.memory_bytes() == 0
    assert weight() is None
    with pytest.raises(ClosedError):
        model.embed(encoded)


def test_broken_weights_are_an_error_that_names_the_model(tmp_path: Path, opened: Open) -> None:
    folder = make_embedding(tmp_path / "broken")
    (folder / "model.safetensors").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelUnavailableError, match="broken"):
        opened(folder)
