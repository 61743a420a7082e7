"""Cross-encoders and classifiers against an independent implementation in numpy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

from ragbase_inference.backends.onnx_pairs import OnnxPairs
from ragbase_inference.backends.open import open_model
from ragbase_inference.errors import (
    ClosedError,
    ModelFailedError,
    ModelUnavailableError,
    TextTooLongError,
)
from ragbase_inference.tokens import Encoded

from ..test_encoder import reference

FAMILIES = [
    ("bert", "bert."),
    ("roberta", "roberta."),
    ("xlm-roberta", "roberta."),
    ("camembert", "roberta."),
    ("distilbert", "distilbert."),
]
PAIRS = [("the cat", "a b c d e f"), ("q", "the cats"), ("a cat", None), ("x y z " * 9, "cat " * 9)]


def opened(folder: Path, **options: Any) -> OnnxPairs:
    model = open_model(str(folder), backend="onnx", threads=1, **options)
    assert isinstance(model, OnnxPairs)
    return model


def head(folder: Path, model_type: str, first: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logits of the first token's hidden state, as transformers' classes compute them."""
    weights = load_file(folder / "model.safetensors")

    def dense(x: Any, name: str) -> Any:
        return weights[f"{name}.weight"] @ x + weights[f"{name}.bias"]

    if model_type == "bert":
        return np.asarray(dense(np.tanh(dense(first, "bert.pooler.dense")), "classifier"))
    if model_type == "distilbert":
        return np.asarray(dense(np.maximum(dense(first, "pre_classifier"), 0), "classifier"))
    return np.asarray(dense(np.tanh(dense(first, "classifier.dense")), "classifier.out_proj"))


def expected(folder: Path, model_type: str, one: Encoded) -> NDArray[np.float64]:
    segments = one.segments if model_type == "bert" else None
    return head(folder, model_type, reference(folder, one.ids, "gelu", segments)[0])


@pytest.mark.parametrize(("model_type", "prefix"), FAMILIES)
@pytest.mark.parametrize("labels", [1, 3])
def test_logits_equal_the_reference_in_a_padded_batch(
    make_model: Any, model_type: str, prefix: str, labels: int
) -> None:
    folder = make_model(model_type, prefix=prefix, labels=labels)
    model = opened(folder)
    encoded = model.encode_pairs(PAIRS, cut="right")
    got = model.logits(encoded)
    assert got.shape == (4, labels)
    assert got.dtype == np.float32
    want = [expected(folder, model_type, one) for one in encoded]
    np.testing.assert_allclose(got, want, atol=1e-4)


def test_the_segments_of_a_pair_reach_the_model(make_model: Any) -> None:
    model = opened(make_model("bert", prefix="bert.", labels=1))
    (pair,) = model.encode_pairs([("the cat", "a b")], cut="right")
    assert pair.segments == [0, 0, 0, 0, 1, 1, 1]
    flat = Encoded(pair.ids)
    assert abs(model.logits([pair]) - model.logits([flat])).item() > 1e-3


@pytest.mark.parametrize("rows", [1, 2, 7, 32, 200])
def test_a_score_does_not_depend_on_its_batch(make_model: Any, rows: int) -> None:
    model = opened(make_model("xlm-roberta", prefix="roberta.", labels=1))
    pairs = [("the cat", "a b c " * (number % 5)) for number in range(rows)]
    encoded = model.encode_pairs(pairs, cut="right")
    alone = np.concatenate([model.logits([one]) for one in encoded])
    np.testing.assert_allclose(model.logits(encoded), alone, atol=1e-5)


def test_long_pairs_are_cut_or_refused(make_model: Any) -> None:
    model = opened(make_model("bert", prefix="bert.", labels=1))
    pairs = [("a", "b"), ("the cat", "c " * 50)]
    encoded = model.encode_pairs(pairs, cut="right")
    assert [len(one) for one in encoded] == [5, 24]
    assert [one.cut for one in encoded] == [False, True]
    assert np.isfinite(model.logits(encoded)).all()
    with pytest.raises(TextTooLongError) as caught:
        model.encode_pairs(pairs, cut=None)
    assert (caught.value.index, caught.value.tokens, caught.value.limit) == (1, 55, 24)


def test_facts_and_end(make_model: Any) -> None:
    folder = make_model("distilbert", prefix="distilbert.", labels=3)
    model = opened(folder)
    facts = model.facts
    assert (facts.kind, facts.backend, facts.dtype) == ("classifier", "onnx", "float32")
    assert facts.labels == ("LABEL_0", "LABEL_1", "LABEL_2")
    assert facts.max_tokens == 24
    assert model.memory_bytes() > 10_000
    encoded = model.encode_pairs([("a", None)], cut=None)
    model.close()
    model.close()
    assert model.memory_bytes() == 0
    with pytest.raises(ClosedError):
        model.logits(encoded)


def test_a_head_computes_in_fp32_whatever_its_encoder_was_measured_at(make_model: Any) -> None:
    base = "nreimers/MiniLM-L6-H384-uncased"
    folder = make_model("bert", prefix="bert.", labels=1, _name_or_path=base)
    assert opened(folder).facts.dtype == "float32"


def test_int8_stays_near_fp32(make_model: Any) -> None:
    folder = make_model("bert", prefix="bert.", labels=1)
    exact, rounded = opened(folder), opened(folder, dtype="int8")
    assert rounded.facts.dtype == "int8"
    encoded = exact.encode_pairs(PAIRS, cut="right")
    difference = np.abs(exact.logits(encoded) - rounded.logits(encoded)).max()
    assert 0 < difference < 0.2


def published(folder: Path, model: OnnxPairs, output: str = "logits") -> Path:
    """Make the folder one of a foreign architecture that ships its ONNX."""
    import shutil

    from ragbase_inference.config import read_config
    from ragbase_inference.encoder import write_classifier

    (folder / "onnx").mkdir()
    write_classifier(read_config("m", folder, with_head=True), folder / "onnx", "fp32")
    graph = onnx.load(folder / "onnx" / "model.onnx")
    graph.graph.output[0].name = graph.graph.node[-1].output[0] = output
    shutil.rmtree(folder / "onnx")
    (folder / "onnx").mkdir()
    onnx.save(graph, folder / "onnx" / "model.onnx")
    raw = json.loads((folder / "config.json").read_text()) | {"model_type": "foreign"}
    (folder / "config.json").write_text(json.dumps(raw))
    return folder


@pytest.mark.parametrize("output", ["logits", "score"])
def test_a_foreign_architecture_runs_from_its_own_onnx(make_model: Any, output: str) -> None:
    folder = make_model("bert", prefix="bert.", labels=1)
    ours = opened(folder)
    encoded = ours.encode_pairs(PAIRS, cut="right")
    theirs = opened(published(folder, ours, output))
    np.testing.assert_allclose(theirs.logits(encoded), ours.logits(encoded), atol=1e-5)


def test_an_embedding_graph_under_the_name_of_a_classifier_is_refused(make_model: Any) -> None:
    from ragbase_inference.config import read_config
    from ragbase_inference.encoder import write_encoder

    folder = make_model("bert", prefix="bert.", labels=1)
    (folder / "onnx").mkdir()
    write_encoder(read_config("m", folder), folder / "onnx", "fp32")
    raw = json.loads((folder / "config.json").read_text()) | {"model_type": "foreign"}
    (folder / "config.json").write_text(json.dumps(raw))
    with pytest.raises(ModelUnavailableError, match="logits"):
        opened(folder)


def test_a_head_that_is_missing_is_named(make_model: Any) -> None:
    folder = make_model("bert", prefix="bert.")
    raw = json.loads((folder / "config.json").read_text())
    raw |= {"architectures": ["BertForSequenceClassification"], "num_labels": 1}
    (folder / "config.json").write_text(json.dumps(raw))
    with pytest.raises(ModelUnavailableError, match="pooler"):
        opened(folder)


def test_labels_that_the_weights_contradict_are_noticed(make_model: Any) -> None:
    folder = make_model("bert", prefix="bert.", labels=3, id2label={"0": "only"})
    model = opened(folder)
    with pytest.raises(ModelFailedError, match="3"):
        model.logits(model.encode_pairs([("a", "b")], cut=None))
