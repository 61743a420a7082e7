"""Matrix products in the precision a model is converted to."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.config import Precision
from ragbase_inference.graph import MICROSOFT, GraphWriter

__all__ = ["Linear", "linear"]

_ZERO_POINT = 128
_ACTIVATION_MAX = 127
_WEIGHT_MAX = 63
"""Seven bits: without VNNI, AVX2 adds two products u8 * s8 in 16 bits, which overflow at
255 * 127 * 2 but not at 255 * 63 * 2. So every CPU computes the same integers."""


class Linear(Protocol):
    """``x @ W.T`` for activations of shape (rows, in) and weights of shape (out, in)."""

    def prepare(self, x: str) -> tuple[str, ...]:
        """What several products of the same ``x`` share."""
        ...

    def product(self, prepared: tuple[str, ...], name: str, weight: NDArray[np.float32]) -> str:
        """Add the product; ``name`` names its weights. The bias is the caller's."""
        ...


def linear(precision: Precision, graph: GraphWriter) -> Linear:
    """The way to multiply in ``precision``."""
    return Float32Linear(graph) if precision == "fp32" else RowInt8Linear(graph)


class Float32Linear:
    """Plain single precision."""

    def __init__(self, graph: GraphWriter) -> None:
        self._graph = graph

    def prepare(self, x: str) -> tuple[str, ...]:
        return (x,)

    def product(self, prepared: tuple[str, ...], name: str, weight: NDArray[np.float32]) -> str:
        return self._graph.node("MatMul", *prepared, self._graph.weight(name, weight.T))


class RowInt8Linear:
    """8-bit activations scaled row by row, 7-bit weights scaled by output channel.

    Scaling by row (one token) rather than by tensor is what keeps a text's vector the same in
    any batch; `onnxruntime.quantization.quantize_dynamic` scales by tensor. Method: token-wise
    dynamic quantisation of Yao et al., ZeroQuant, NeurIPS 2022.
    """

    def __init__(self, graph: GraphWriter) -> None:
        self._graph = graph

    def prepare(self, x: str) -> tuple[str, ...]:
        """Quantised rows (u8, zero point 128) and their scales, shape (rows, 1)."""
        add, const = self._graph.node, self._graph.weight
        last = const("axis_last", np.array([1], np.int64))
        highest = add("ReduceMax", x, last, keepdims=1)
        lowest = add("ReduceMin", x, last, keepdims=1)
        floor = const("least_range", np.array(1e-12, np.float32))
        reach = add("Max", highest, add("Neg", lowest), floor)
        scale = add("Mul", reach, const("one_step", np.array(1 / _ACTIVATION_MAX, np.float32)))
        flat_scale = add("Squeeze", scale, last)
        zero = const("zero_point", np.array(_ZERO_POINT, np.uint8))
        zeros = add("Expand", zero, add("Shape", flat_scale))
        return add("QuantizeLinear", x, flat_scale, zeros, axis=0), scale

    def product(self, prepared: tuple[str, ...], name: str, weight: NDArray[np.float32]) -> str:
        quantised, row_scale = prepared
        channel_scale = np.maximum(np.abs(weight).max(axis=1), 1e-12) / _WEIGHT_MAX
        steps = np.rint(weight / channel_scale[:, None]).astype(np.int8)
        const = self._graph.weight
        product = self._graph.node(
            "MatMulIntegerToFloat",
            quantised,
            const(f"{name}.steps", steps.T),
            const("one", np.array(1, np.float32)),
            const(f"{name}.scale", channel_scale.astype(np.float32)),
            const("zero_point", np.array(_ZERO_POINT, np.uint8)),
            domain=MICROSOFT,
        )
        return self._graph.node("Mul", product, row_scale)
