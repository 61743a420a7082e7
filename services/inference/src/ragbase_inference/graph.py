"""A thin writer of ONNX graphs: nodes with generated names, weights as initialisers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

__all__ = ["MICROSOFT", "GraphWriter"]

MICROSOFT = "com.microsoft"
"""Domain of ONNX Runtime's own fused operators."""
_OPSET = 21
_IR_VERSION = 10
_EXTERNAL_FROM_BYTES = 1024


class GraphWriter:
    """Collects the graph from input to output; every method returns names of values."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._weights: dict[str, onnx.TensorProto] = {}

    def weight(self, name: str, value: NDArray[Any]) -> str:
        """Add a constant; the same name twice is the same constant."""
        if name not in self._weights:
            self._weights[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Add an operator with one output that is used."""
        output = f"{operator}_{len(self._nodes)}"
        self.bind(operator, *inputs, output=output, domain=domain, **attributes)
        return output

    def bind(
        self, operator: str, *inputs: str, output: str, domain: str = "", **attributes: Any
    ) -> None:
        """Add an operator whose output has a given name."""
        outputs = (
            [output, f"{output}_unused"] if operator == "EmbedLayerNormalization" else [output]
        )
        self._nodes.append(
            helper.make_node(operator, inputs, outputs, output, domain=domain, **attributes)
        )

    def save(
        self, folder: Path, *, inputs: Sequence[str], output: str, shape: Sequence[str | int]
    ) -> None:
        """Write ``model.onnx`` and, beside it, ``weights.bin`` (so that it can be mapped).

        All ``inputs`` are int64 (batch, tokens); ``output`` is float32 of ``shape``.
        """
        graph = helper.make_graph(
            self._nodes,
            "encoder",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
                for name in inputs
            ],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            list(self._weights.values()),
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(MICROSOFT, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION)
        onnx.save_model(
            model,
            folder / "model.onnx",
            save_as_external_data=True,
            location="weights.bin",
            size_threshold=_EXTERNAL_FROM_BYTES,
        )
