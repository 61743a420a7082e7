"""Cross-encoders and classifiers of the torch backend against transformers itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from ragbase_inference.errors import ModelUnavailableError, TextTooLongError

from .conftest import Open
from .models import FAMILIES, make_classifier, make_embedding
from .texts import LONG, QUERY, TEXTS, texts


def direct(folder: Path, rows: Sequence[tuple[str, ...]]) -> NDArray[np.float32]:
    """Logits of pairs or of lone texts, by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    columns = [list(column) for column in zip(*rows, strict=True)]
    inputs = tokenizer(
        *columns, padding=True, truncation="longest_first", max_length=128, return_tensors="pt"
    )
    with torch.inference_mode():
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        logits: NDArray[np.float32] = model(**inputs).logits.numpy()
    return logits


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("labels", [1, 3])
def test_logits_are_those_of_transformers(
    family: str, labels: int, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_classifier, family, labels=labels)
    model = opened(folder)
    pairs = [(QUERY, text) for text in TEXTS] + [(LONG, "short"), (LONG, LONG)]
    found = model.logits(model.encode_pairs(pairs, cut="right"))
    assert found.shape == (len(pairs), labels)
    assert model.facts.kind == ("reranker" if labels == 1 else "classifier")
    np.testing.assert_allclose(found, direct(folder, pairs), atol=1e-4)


@pytest.mark.parametrize("size", [1, 2, 7, 64, 200])
def test_scores_and_order_do_not_depend_on_the_batch(
    size: int, models: Callable[..., Path], opened: Open
) -> None:
    folder = models(make_classifier)
    model = opened(folder)
    pairs = [(QUERY, text) for text in texts(size, seed=size)]
    encoded = model.encode_pairs(pairs, cut="right")
    together = model.logits(encoded)[:, 0]
    alone = np.array([model.logits([one])[0, 0] for one in encoded[-7:]])
    expected = direct(folder, pairs)[:, 0]
    np.testing.assert_allclose(together[-7:], alone, atol=1e-4)
    np.testing.assert_allclose(together, expected, atol=1e-4)
    assert np.array_equal(np.argsort(-together), np.argsort(-expected))


def test_lone_texts_are_judged_without_a_second(models: Callable[..., Path], opened: Open) -> None:
    folder = models(make_classifier, "bert", labels=3)
    model = opened(folder)
    found = model.logits(model.encode_pairs([(text, None) for text in TEXTS], cut="right"))
    np.testing.assert_allclose(found, direct(folder, [(text,) for text in TEXTS]), atol=1e-4)


def test_pairs_beyond_the_limit_are_refused_where_nothing_may_be_cut(
    models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_classifier))
    with pytest.raises(TextTooLongError) as caught:
        model.encode_pairs([(QUERY, "short"), (QUERY, LONG)], cut=None)
    assert (caught.value.index, caught.value.limit) == (1, 128)


def test_the_head_scores_in_single_precision(models: Callable[..., Path], opened: Open) -> None:
    """Scores of bfloat16 have three digits; those of a hundred texts would tie."""
    model = opened(models(make_classifier), dtype="bfloat16")
    pairs = [(QUERY, text) for text in texts(100)]
    scores = model.logits(model.encode_pairs(pairs, cut="right"))[:, 0]
    rounded = torch.tensor(scores).bfloat16().float().numpy()
    assert len(np.unique(scores)) > len(np.unique(rounded))
    expected = direct(models(make_classifier), pairs)[:, 0]
    assert np.abs(scores - expected).max() < 0.1


def test_a_head_without_weights_is_refused(tmp_path: Path, opened: Open) -> None:
    """transformers would make it up and go on."""
    folder = make_classifier(tmp_path / "headless")
    weights = load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if not name.startswith("classifier")}
    save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnavailableError, match=r"classifier\.weight"):
        opened(folder)


def test_int8_is_for_the_other_backend(models: Callable[..., Path], opened: Open) -> None:
    for make in (make_classifier, make_embedding):
        with pytest.raises(ModelUnavailableError, match="onnx"):
            opened(models(make), dtype="int8")
