"""Padding, and files that are no encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, save_model

from ragbase_inference.errors import ModelFailedError, ModelUnavailableError
from ragbase_inference.session import EncoderSession, pad


def write(path: Path, *, inputs: list[str], rank: int = 3) -> Path:
    """A model that repeats its ids: (batch, tokens) → rank 2, or 3 with a last axis of 1."""
    shape: list[str | int | None] = ["b", "t"]
    nodes = [helper.make_node("Cast", [inputs[0]], ["flat"], to=TensorProto.FLOAT)]
    axes = helper.make_tensor("axes", TensorProto.INT64, [1], [2])
    nodes += (
        [helper.make_node("Unsqueeze", ["flat", "axes"], ["y"])]
        if rank == 3
        else [helper.make_node("Identity", ["flat"], ["y"])]
    )
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.INT64, shape) for name in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [*shape, 1][:rank])],
        [axes],
    )
    opset = [helper.make_opsetid("", 18)]
    save_model(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return path


def test_pad() -> None:
    ids, mask = pad([[5, 6, 7], [8]], 9)
    assert ids.tolist() == [[5, 6, 7], [8, 9, 9]]
    assert mask.tolist() == [[1, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    "inputs", [["input_ids"], ["input_ids", "attention_mask", "token_type_ids"]]
)
def test_a_model_gets_the_inputs_it_names(tmp_path: Path, inputs: list[str]) -> None:
    session = EncoderSession(write(tmp_path / "m.onnx", inputs=inputs), threads=1)
    assert session.hidden_state(*pad([[5, 6], [7]], 0)).tolist() == [[[5], [6]], [[7], [0]]]


@pytest.mark.parametrize(
    ("inputs", "rank", "why"),
    [
        (["pixels"], 3, "inputs"),
        (["input_ids", "pixels"], 3, "pixels"),
        (["input_ids"], 2, "hidden"),
    ],
)
def test_a_model_that_is_no_text_encoder_is_refused(
    tmp_path: Path, inputs: list[str], rank: int, why: str
) -> None:
    with pytest.raises(ModelUnavailableError, match=why):
        EncoderSession(write(tmp_path / "m.onnx", inputs=inputs, rank=rank), threads=1)


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(b"no model")
    with pytest.raises(ModelUnavailableError, match=r"m\.onnx"):
        EncoderSession(tmp_path / "m.onnx", threads=1)


def test_what_the_runtime_refuses_is_our_error(tmp_path: Path) -> None:
    session = EncoderSession(write(tmp_path / "m.onnx", inputs=["input_ids"]), threads=1)
    one_dimension = np.array([1, 2])
    with pytest.raises(ModelFailedError):
        session.hidden_state(one_dimension, one_dimension)
