"""The ONNX graph of a BERT-family encoder, written with ONNX Runtime's fused operators.

Source: Devlin et al., BERT, NAACL 2019 (post-norm transformer encoder). RoBERTa and XLM-R differ
in where positions start, DistilBERT in names and the lack of a token type.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ragbase_inference.config import ModelConfig, Precision
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.graph import MICROSOFT, GraphWriter
from ragbase_inference.linear import linear
from ragbase_inference.weights import Weights

_INT32 = int(TensorProto.INT32)

__all__ = ["EncoderShape", "encoder_shape", "write_encoder"]

_WORDS = "embeddings.word_embeddings.weight"
_OUTPUT = "last_hidden_state"

_BERT_LAYER = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "context": "attention.output.dense",
    "context_norm": "attention.output.LayerNorm",
    "widen": "intermediate.dense",
    "narrow": "output.dense",
    "norm": "output.LayerNorm",
}
_DISTILBERT_LAYER = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "context": "attention.out_lin",
    "context_norm": "sa_layer_norm",
    "widen": "ffn.lin1",
    "narrow": "ffn.lin2",
    "norm": "output_layer_norm",
}
_GELU_TANH = frozenset({"gelu_new", "gelu_fast", "gelu_pytorch_tanh"})


@dataclass(frozen=True, slots=True)
class EncoderShape:
    """What differs between the members of the family; ``names`` maps our parts to theirs."""

    layers: int
    heads: int
    width: int
    epsilon: float
    activation: str
    position_offset: int
    path: str
    names: Mapping[str, str]


def encoder_shape(config: ModelConfig) -> EncoderShape:
    """Shape of a model that `ragbase_inference.convert.is_convertible`.

    Raises `ModelUnavailableError` where its file lacks a number or names an unknown activation.
    """
    raw = config.encoder
    distil = config.model_type == "distilbert"
    return EncoderShape(
        layers=_whole_number(config, "n_layers" if distil else "num_hidden_layers"),
        heads=_whole_number(config, "n_heads" if distil else "num_attention_heads"),
        width=config.dimension,
        epsilon=float(raw.get("layer_norm_eps", 1e-12)),
        activation=_activation(config, raw.get("activation" if distil else "hidden_act", "gelu")),
        position_offset=config.position_offset,
        path="transformer.layer" if distil else "encoder.layer",
        names=_DISTILBERT_LAYER if distil else _BERT_LAYER,
    )


def _whole_number(config: ModelConfig, key: str) -> int:
    value = config.encoder.get(key)
    if not isinstance(value, int) or value < 1:
        raise ModelUnavailableError(f"config.json of {config.name} lacks {key}")
    return value


def _activation(config: ModelConfig, name: Any) -> str:
    if name == "gelu":
        return "BiasGelu"
    if name in _GELU_TANH:
        return "FastGelu"
    if name == "relu":
        return "Relu"
    raise ModelUnavailableError(
        f"{config.name} uses the activation {name!r}, which is unknown here"
    )


def write_encoder(config: ModelConfig, folder: Path, precision: Precision) -> None:
    """Convert the model's safetensors to ``folder / model.onnx`` in ``precision``."""
    shape = encoder_shape(config)
    with Weights(config.folder, _WORDS) as weights:
        writer = _EncoderWriter(shape, weights, precision)
        writer.write(folder)


class _EncoderWriter:
    """Activations travel as (batch * tokens, width); attention alone needs three dimensions."""

    def __init__(self, shape: EncoderShape, weights: Weights, precision: Precision) -> None:
        self._shape = shape
        self._weights = weights
        self._graph = GraphWriter()
        self._linear = linear(precision, self._graph)

    def write(self, folder: Path) -> None:
        graph, shape = self._graph, self._shape
        width = graph.weight("width", np.array([shape.width], np.int64))
        self._flat = graph.weight("flat", np.array([-1, shape.width], np.int64))
        self._mask = graph.node("Cast", "attention_mask", to=_INT32)
        self._batched = graph.node("Concat", graph.node("Shape", "input_ids"), width, axis=0)
        x = self._embeddings()
        for number in range(shape.layers):
            x = self._layer(x, f"{shape.path}.{number}.")
        graph.bind("Reshape", x, self._batched, output=_OUTPUT)
        graph.save(folder, output=_OUTPUT, width=shape.width)

    def _embeddings(self) -> str:
        graph, weights = self._graph, self._weights
        positions = weights["embeddings.position_embeddings.weight"][self._shape.position_offset :]
        types = "embeddings.token_type_embeddings.weight"
        if types in weights:  # a lone text is of type 0 throughout
            positions = positions + weights[types][0]
        embedded = graph.node(
            "EmbedLayerNormalization",
            graph.node("Cast", "input_ids", to=_INT32),
            "",
            graph.weight(_WORDS, weights[_WORDS]),
            graph.weight("positions", positions),
            "",
            *self._pair("embeddings.LayerNorm"),
            domain=MICROSOFT,
            epsilon=self._shape.epsilon,
        )
        return graph.node("Reshape", embedded, self._flat)

    def _pair(self, name: str) -> tuple[str, str]:
        """Scale and shift of a layer norm."""
        scale, shift = f"{name}.weight", f"{name}.bias"
        return (
            self._graph.weight(scale, self._weights[scale]),
            self._graph.weight(shift, self._weights[shift]),
        )

    def _layer(self, x: str, prefix: str) -> str:
        part = {ours: prefix + theirs for ours, theirs in self._shape.names.items()}
        context = self._product(self._attention(x, part), part["context"])
        x = self._add_and_norm(context, x, part["context_norm"], part["context"])
        narrow = self._product(self._feed_forward(x, part["widen"]), part["narrow"])
        return self._add_and_norm(narrow, x, part["norm"], part["narrow"])

    def _product(self, x: str, name: str) -> str:
        prepared = self._linear.prepare(x)
        return self._linear.product(prepared, name, self._weights[f"{name}.weight"])

    def _attention(self, x: str, part: Mapping[str, str]) -> str:
        graph, prepared = self._graph, self._linear.prepare(x)
        names = [part[kind] for kind in ("query", "key", "value")]
        inputs = [
            graph.node(
                "Reshape",
                self._linear.product(prepared, name, self._weights[f"{name}.weight"]),
                self._batched,
            )
            for name in names
        ]
        bias: NDArray[np.float32] = np.concatenate([self._weights[f"{n}.bias"] for n in names])
        attended = graph.node(
            "MultiHeadAttention",
            *inputs,
            graph.weight(f"{names[0]}.biases", bias),
            self._mask,
            domain=MICROSOFT,
            num_heads=self._shape.heads,
        )
        return graph.node("Reshape", attended, self._flat)

    def _feed_forward(self, x: str, name: str) -> str:
        graph, bias_name = self._graph, f"{name}.bias"
        bias = graph.weight(bias_name, self._weights[bias_name])
        wide = self._product(x, name)
        if self._shape.activation == "Relu":
            return graph.node("Relu", graph.node("Add", wide, bias))
        return graph.node(self._shape.activation, wide, bias, domain=MICROSOFT)

    def _add_and_norm(self, x: str, residual: str, norm: str, dense: str) -> str:
        bias_name = f"{dense}.bias"
        return self._graph.node(
            "SkipLayerNormalization",
            x,
            residual,
            *self._pair(norm),
            self._graph.weight(bias_name, self._weights[bias_name]),
            domain=MICROSOFT,
            epsilon=self._shape.epsilon,
        )
