"""The converted graph against an independent implementation in numpy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from ragbase_inference.config import Precision, read_config
from ragbase_inference.encoder import encoder_shape, write_encoder
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.session import EncoderSession, pad
from ragbase_inference.weights import Weights

IDS = [[2, 5, 9, 30, 7, 3], [2, 31, 3], [2, 8, 8, 3]]


def _norm(x: Any, weights: Weights, name: str, epsilon: float) -> Any:
    spread = np.sqrt(x.var(-1, keepdims=True) + epsilon)
    return (x - x.mean(-1, keepdims=True)) / spread * weights[f"{name}.weight"] + weights[
        f"{name}.bias"
    ]


def _dense(x: Any, weights: Weights, name: str) -> Any:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def _gelu(x: Any) -> Any:
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "gelu": _gelu,
    "gelu_new": _gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
}


def _attention(x: Any, weights: Weights, names: list[str], heads: int) -> Any:
    query, key, value = (
        _dense(x, weights, name).reshape(len(x), heads, -1).transpose(1, 0, 2) for name in names
    )
    scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
    share = np.exp(scores - scores.max(-1, keepdims=True))
    share /= share.sum(-1, keepdims=True)
    return (share @ value).transpose(1, 0, 2).reshape(len(x), -1)


def reference(
    folder: Path, ids: list[int], activation: str, segments: list[int] | None = None
) -> NDArray[np.float64]:
    """Hidden states of one text without padding, step by step as the papers write it."""
    shape = encoder_shape(read_config("model", folder))
    with Weights(folder, "embeddings.word_embeddings.weight") as weights:
        at = np.arange(len(ids)) + shape.position_offset
        x: Any = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
        x = x + weights["embeddings.position_embeddings.weight"][at]
        if "embeddings.token_type_embeddings.weight" in weights:
            x = x + weights["embeddings.token_type_embeddings.weight"][segments or [0] * len(ids)]
        x = _norm(x, weights, "embeddings.LayerNorm", shape.epsilon)
        for number in range(shape.layers):
            part = {k: f"{shape.path}.{number}.{v}" for k, v in shape.names.items()}
            context = _attention(
                x, weights, [part["query"], part["key"], part["value"]], shape.heads
            )
            x = x + _dense(context, weights, part["context"])
            x = _norm(x, weights, part["context_norm"], shape.epsilon)
            wide = ACTIVATIONS[activation](_dense(x, weights, part["widen"]))
            x = x + _dense(wide, weights, part["narrow"])
            x = _norm(x, weights, part["norm"], shape.epsilon)
    return np.asarray(x)


def hidden_states(folder: Path, precision: Precision, target: Path) -> list[NDArray[np.float32]]:
    """Hidden states of IDS in one padded batch, padding taken off."""
    config = read_config("model", folder)
    write_encoder(config, target, precision)
    session = EncoderSession(target / "model.onnx", threads=1)
    hidden = session.hidden_state(*pad(IDS, config.pad_id))
    return [rows[: len(ids)] for rows, ids in zip(hidden, IDS, strict=True)]


@pytest.mark.parametrize(
    ("model_type", "prefix", "activation"),
    [
        ("bert", "", "gelu"),
        ("bert", "bert.", "gelu_new"),
        ("roberta", "roberta.", "gelu"),
        ("xlm-roberta", "0.auto_model.", "relu"),
        ("distilbert", "distilbert.", "gelu"),
    ],
)
def test_fp32_equals_the_reference_in_a_padded_batch(
    make_model: Any, tmp_path: Path, model_type: str, prefix: str, activation: str
) -> None:
    key = "activation" if model_type == "distilbert" else "hidden_act"
    folder = make_model(model_type, prefix=prefix, **{key: activation})
    for ids, got in zip(IDS, hidden_states(folder, "fp32", tmp_path), strict=True):
        np.testing.assert_allclose(got, reference(folder, ids, activation), atol=2e-5, rtol=1e-4)


def test_the_reference_notices_a_wrong_position_offset(make_model: Any, tmp_path: Path) -> None:
    folder = make_model("roberta")
    got = hidden_states(folder, "fp32", tmp_path)[0]
    config = (folder / "config.json").read_text()
    (folder / "config.json").write_text(config.replace("roberta", "bert"))
    assert np.abs(got - reference(folder, IDS[0], "gelu")).max() > 0.05


def test_int8_stays_near_the_reference(make_model: Any, tmp_path: Path) -> None:
    folder = make_model("bert")
    for ids, got in zip(IDS, hidden_states(folder, "int8", tmp_path), strict=True):
        want = reference(folder, ids, "gelu")
        cosine = (got * want).sum(1) / np.linalg.norm(got, axis=1) / np.linalg.norm(want, axis=1)
        assert cosine.min() > 0.99


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_checkpoints_are_read(make_model: Any, tmp_path: Path, dtype: Any) -> None:
    from safetensors.numpy import load_file, save_file

    folder = make_model("bert")
    full = load_file(folder / "model.safetensors")
    save_file({k: v.astype(dtype) for k, v in full.items()}, folder / "model.safetensors")
    got = hidden_states(folder, "fp32", tmp_path)[0]
    np.testing.assert_allclose(got, reference(folder, IDS[0], "gelu"), atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("changes", "named"),
    [({"hidden_act": "swish"}, "swish"), ({"num_attention_heads": None}, "heads")],
)
def test_what_the_graph_cannot_express_is_refused(
    make_model: Any, changes: dict[str, Any], named: str
) -> None:
    with pytest.raises(ModelUnavailableError, match=named):
        encoder_shape(read_config("model", make_model("bert", **changes)))


def test_a_checkpoint_without_a_tensor_is_refused(make_model: Any, tmp_path: Path) -> None:
    folder = make_model("bert", num_hidden_layers=3)
    with pytest.raises(ModelUnavailableError, match=r"encoder\.layer\.2"):
        write_encoder(read_config("model", folder), tmp_path, "fp32")
