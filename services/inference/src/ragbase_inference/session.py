"""ONNX Runtime sessions on the CPU: token ids in, hidden states out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from ragbase_inference.cores import usable_cores
from ragbase_inference.errors import ModelFailedError, ModelUnavailableError

__all__ = ["EncoderSession", "pad", "save_optimised"]

_PROVIDERS = ["CPUExecutionProvider"]
_EXTERNAL_FROM_BYTES = "1024"


def _options(threads: int) -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or usable_cores()
    # Spinning workers gain a millisecond on an idle machine and lose tens on a shared one:
    # the database works beside us, often on the same cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = 3
    return options


def save_optimised(source: Path, folder: Path) -> None:
    """Write ``source`` with its operators fused to ``folder``, as ``model.onnx`` + ``weights.bin``.

    The level leaves out what depends on the CPU. Raises `ModelUnavailableError`.
    """
    options = _options(threads=0)
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / "model.onnx")
    prefix = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(prefix + "file_name", "weights.bin")
    options.add_session_config_entry(prefix + "min_size_in_bytes", _EXTERNAL_FROM_BYTES)
    _open(source, options)


def _open(path: Path, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=_PROVIDERS)
    except Exception as error:
        raise ModelUnavailableError(f"ONNX Runtime cannot open {path}: {error}") from error


def pad(rows: Sequence[Sequence[int]], pad_id: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Token ids and attention mask, both (rows, longest row); padding stands on the right."""
    longest = max(len(row) for row in rows)
    ids = np.full((len(rows), longest), pad_id, np.int64)
    mask = np.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return ids, mask


class EncoderSession:
    """One loaded encoder; safe to call from several threads at once."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """``threads`` = 0 takes all usable cores. Raises `ModelUnavailableError`."""
        self._session = _open(path, _options(threads))
        self._inputs = {value.name for value in self._session.get_inputs()}
        unknown = self._inputs - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise ModelUnavailableError(f"{path} wants inputs we cannot give: {sorted(unknown)}")
        self._output = self._hidden_state_name(path)

    def _hidden_state_name(self, path: Path) -> str:
        """The output with a vector for each token; publishers name it in several ways."""
        for value in self._session.get_outputs():
            if len(value.shape) == 3:
                return str(value.name)
        raise ModelUnavailableError(f"{path} gives no hidden state of each token")

    def hidden_state(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Last hidden state, (rows, tokens, width), of ids and mask (rows, tokens).

        Raises `ModelFailedError`.
        """
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        feed = {name: value for name, value in feed.items() if name in self._inputs}
        try:
            (hidden,) = self._session.run([self._output], feed)
        except Exception as error:
            raise ModelFailedError(f"ONNX Runtime failed on {ids.shape}: {error}") from error
        return np.asarray(hidden, dtype=np.float32)
