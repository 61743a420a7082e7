"""The ONNX graph of a BERT-family encoder, written with ONNX Runtime's fused operators.

Source: Devlin et al., BERT, NAACL 2019 (post-norm transformer encoder). RoBERTa and XLM-R differ
in where positions start, DistilBERT in names and the lack of a token type.

On the encoder stands either nothing, and the graph gives the hidden state of every token, or the
head of a cross-encoder or classifier (`ragbase_inference.head`), and it gives logits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from ragbase_inference.config import ModelConfig, Precision
from ragbase_inference.errors import ModelUnavailableError
from ragbase_inference.graph import MICROSOFT, GraphWriter
from ragbase_inference.head import HeadLayer, head_layers
from ragbase_inference.linear import linear
from ragbase_inference.weights import Weights

_INT32 = int(TensorProto.INT32)

__all__ = ["EncoderShape", "encoder_shape", "write_classifier", "write_encoder"]

_WORDS = "embeddings.word_embeddings.weight"
_TYPES = "embeddings.token_type_embeddings.weight"
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
        _EncoderWriter(shape, weights, precision).write(folder)


def write_classifier(config: ModelConfig, folder: Path, precision: Precision) -> None:
    """The same of a model with a sequence-classification head, which gives ``logits``.

    Takes ``token_type_ids`` where the model tells the texts of a pair apart by them.
    """
    shape = encoder_shape(config)
    with Weights(config.folder, _WORDS) as weights:
        layers = head_layers(config.model_type)
        _EncoderWriter(shape, weights, precision, pairs=True).write_logits(folder, layers)


class _EncoderWriter:
    """Activations travel as (batch * tokens, width); attention alone needs three dimensions."""

    def __init__(
        self, shape: EncoderShape, weights: Weights, precision: Precision, *, pairs: bool = False
    ) -> None:
        self._shape = shape
        self._weights = weights
        self._graph = GraphWriter()
        self._linear = linear(precision, self._graph)
        self._inputs = ["input_ids", "attention_mask"]
        if pairs and _TYPES in weights and len(weights[_TYPES]) > 1:
            self._inputs.append("token_type_ids")

    def write(self, folder: Path) -> None:
        x = self._embeddings()
        for number in range(self._shape.layers):
            x = self._layer(x, number)
        self._graph.bind("Reshape", x, self._batched, output=_OUTPUT)
        shape = ("batch", "tokens", self._shape.width)
        self._graph.save(folder, inputs=self._inputs, output=_OUTPUT, shape=shape)

    def write_logits(self, folder: Path, layers: Sequence[HeadLayer]) -> None:
        """The head reads the first token only, so the last layer feeds forward no other."""
        x, last = self._embeddings(), self._shape.layers - 1
        for number in range(last):
            x = self._layer(x, number)
        x = self._layer(x, last, first_token_only=True)
        for layer in layers[:-1]:
            x = self._graph.node(layer.activation, self._dense(x, layer))
        labels = len(self._weights.beside(f"{layers[-1].name}.bias"))
        self._graph.bind("Identity", self._dense(x, layers[-1]), output="logits")
        self._graph.save(folder, inputs=self._inputs, output="logits", shape=("batch", labels))

    def _dense(self, x: str, layer: HeadLayer) -> str:
        """A layer of the head, always in single precision: it costs nothing."""
        name = layer.name
        tensor = self._weights.__getitem__ if layer.inside_encoder else self._weights.beside
        weight = self._graph.weight(f"{name}.weight", tensor(f"{name}.weight").T)
        bias = self._graph.weight(f"{name}.bias", tensor(f"{name}.bias"))
        return self._graph.node("Add", self._graph.node("MatMul", x, weight), bias)

    def _embeddings(self) -> str:
        graph, weights = self._graph, self._weights
        width = graph.weight("width", np.array([self._shape.width], np.int64))
        self._flat = graph.weight("flat", np.array([-1, self._shape.width], np.int64))
        self._mask = graph.node("Cast", "attention_mask", to=_INT32)
        self._batched = graph.node("Concat", graph.node("Shape", "input_ids"), width, axis=0)
        positions = weights["embeddings.position_embeddings.weight"][self._shape.position_offset :]
        typed = "token_type_ids" in self._inputs
        if _TYPES in weights and not typed:  # all tokens are of type 0
            positions = positions + weights[_TYPES][0]
        embedded = graph.node(
            "EmbedLayerNormalization",
            graph.node("Cast", "input_ids", to=_INT32),
            graph.node("Cast", "token_type_ids", to=_INT32) if typed else "",
            graph.weight(_WORDS, weights[_WORDS]),
            graph.weight("positions", positions),
            graph.weight(_TYPES, weights[_TYPES]) if typed else "",
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

    def _layer(self, x: str, number: int, *, first_token_only: bool = False) -> str:
        prefix = f"{self._shape.path}.{number}."
        part = {ours: prefix + theirs for ours, theirs in self._shape.names.items()}
        attended = self._attention(x, part)
        if first_token_only:
            attended, x = self._first_tokens(attended), self._first_tokens(x)
        context = self._product(attended, part["context"])
        x = self._add_and_norm(context, x, part["context_norm"], part["context"])
        narrow = self._product(self._feed_forward(x, part["widen"]), part["narrow"])
        return self._add_and_norm(narrow, x, part["norm"], part["narrow"])

    def _first_tokens(self, x: str) -> str:
        """Rows (batch, width) of the first token of each text."""
        graph = self._graph
        at = graph.weight("first", np.array([0], np.int64))
        gathered = graph.node("Gather", graph.node("Reshape", x, self._batched), at, axis=1)
        return graph.node("Reshape", gathered, self._flat)

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
