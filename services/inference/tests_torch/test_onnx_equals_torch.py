"""The same model gives the same numbers, whichever backend runs it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from .conftest import Open
from .models import FAMILIES, make_classifier, make_embedding
from .texts import LONG, QUERY, TEXTS, texts


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_embeddings(family: str, pooling: str, models: Callable[..., Path], opened: Open) -> None:
    folder = models(make_embedding, family, pooling=pooling)
    torch, onnx = opened(folder), opened(folder, backend="onnx", dtype="float32")
    given = [*TEXTS, *texts(40)]
    encoded = torch.encode(given, cut="right")
    assert encoded == onnx.encode(given, cut="right")
    assert torch.encode(given, cut="left") == onnx.encode(given, cut="left")
    np.testing.assert_allclose(onnx.embed(encoded), torch.embed(encoded), atol=1e-4)
    for one, other in zip(onnx.embed_tokens(encoded), torch.embed_tokens(encoded), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)
    shared = ("model", "kind", "max_tokens", "dimension", "pooling", "labels")
    assert [getattr(torch.facts, name) for name in shared] == [
        getattr(onnx.facts, name) for name in shared
    ]
    assert (torch.prompts, torch.default_prompt) == (onnx.prompts, onnx.default_prompt)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("labels", [1, 3])
def test_pair_heads(family: str, labels: int, models: Callable[..., Path], opened: Open) -> None:
    folder = models(make_classifier, family, labels=labels)
    torch, onnx = opened(folder), opened(folder, backend="onnx", dtype="float32")
    pairs = [(QUERY, text) for text in [*TEXTS, *texts(40)]]
    given = [*pairs, (LONG, LONG), ("alone", None)]
    encoded = torch.encode_pairs(given, cut="right")
    assert encoded == onnx.encode_pairs(given, cut="right")
    ours, theirs = onnx.logits(encoded), torch.logits(encoded)
    np.testing.assert_allclose(ours, theirs, atol=1e-4)
    assert np.array_equal(np.argsort(-ours[:, 0]), np.argsort(-theirs[:, 0]))
    assert (torch.facts.kind, torch.facts.labels) == (onnx.facts.kind, onnx.facts.labels)


def test_minilm(opened: Open) -> None:
    name = "sentence-transformers/all-MiniLM-L6-v2"
    torch, onnx = opened(name), opened(name, backend="onnx", dtype="float32")
    encoded = torch.encode([*TEXTS, *texts(60)], cut="right")
    np.testing.assert_allclose(onnx.embed(encoded), torch.embed(encoded), atol=1e-4)
    assert (torch.facts.max_tokens, torch.facts.pooling) == (256, "mean")


def test_vectors_in_the_store_stay_valid_when_the_backend_changes(opened: Open) -> None:
    """Prefixes come of the same files, so a query on one finds passages embedded by the other."""
    name = "sentence-transformers/all-MiniLM-L6-v2"
    torch, onnx = opened(name), opened(name, backend="onnx", dtype="int8")
    encoded = torch.encode(texts(50), cut="right")
    one, other = torch.embed(encoded), onnx.embed(encoded)
    cosines = (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)
    assert cosines.min() > 0.98
