"""ONNX Runtime sessions on the CPU: token ids in, hidden states out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from ragbase_inference.cores import usable_cores
from ragbase_inference.errors import (
    ClosedError,
    ModelFailedError,
    ModelUnavailableError,
    OutOfMemoryError,
)

__all__ = ["EncoderSession", "HeadSession", "pad", "pad_segments", "save_optimised"]

_PROVIDERS = ["CPUExecutionProvider"]
_EXTERNAL_FROM_BYTES = "1024"
_OUT_OF_MEMORY = ("bad_alloc", "Failed to allocate memory", "is smaller than requested bytes")


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


def pad_segments(rows: Sequence[Sequence[int] | None], longest: int) -> NDArray[np.int64]:
    """Segment ids (rows, longest); of a row None, and of padding, they are 0."""
    segments = np.zeros((len(rows), longest), np.int64)
    for number, row in enumerate(rows):
        if row is not None:
            segments[number, : len(row)] = row
    return segments


class _TokenSession(ABC):
    """One loaded graph over token ids; safe to call from several threads at once."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """``threads`` = 0 takes all usable cores. Raises `ModelUnavailableError`."""
        session = _open(path, _options(threads))
        self._session: onnxruntime.InferenceSession | None = session
        self._inputs = {value.name for value in session.get_inputs()}
        unknown = self._inputs - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise ModelUnavailableError(f"{path} wants inputs we cannot give: {sorted(unknown)}")
        self._output = self._choose_output(session, path)

    @abstractmethod
    def _choose_output(self, session: onnxruntime.InferenceSession, path: Path) -> str:
        """Name of the output that is wanted; raises `ModelUnavailableError` where there is none."""

    def _run(
        self,
        ids: NDArray[np.int64],
        mask: NDArray[np.int64],
        segments: NDArray[np.int64] | None = None,
    ) -> NDArray[np.float32]:
        session = self._session
        if session is None:
            raise ClosedError("the model is closed")
        types = np.zeros_like(ids) if segments is None else segments
        feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        feed = {name: value for name, value in feed.items() if name in self._inputs}
        try:
            (output,) = session.run([self._output], feed)
        except Exception as error:
            kind = OutOfMemoryError if _is_out_of_memory(error) else ModelFailedError
            raise kind(f"ONNX Runtime failed on {ids.shape}: {error}") from error
        return np.asarray(output, dtype=np.float32)

    def close(self) -> None:
        """Release memory and threads once running calls have ended; later ones fail."""
        self._session = None


def _is_out_of_memory(error: Exception) -> bool:
    """The runtime has no class of error for it, only texts."""
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in _OUT_OF_MEMORY)


class EncoderSession(_TokenSession):
    """An encoder: gives the hidden state of every token."""

    def _choose_output(self, session: onnxruntime.InferenceSession, path: Path) -> str:
        """The output with a vector for each token; publishers name it in several ways."""
        for value in session.get_outputs():
            if len(value.shape) == 3:
                return str(value.name)
        raise ModelUnavailableError(f"{path} gives no hidden state of each token")

    def hidden_state(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """Last hidden state, (rows, tokens, width), of ids and mask (rows, tokens).

        Raises `ModelFailedError`, `ClosedError`.
        """
        return self._run(ids, mask)


class HeadSession(_TokenSession):
    """An encoder with a sequence-classification head: gives logits."""

    def _choose_output(self, session: onnxruntime.InferenceSession, path: Path) -> str:
        """The output called ``logits``, else the only one with a row of numbers for each text."""
        flat = [str(value.name) for value in session.get_outputs() if len(value.shape) == 2]
        if "logits" in flat or len(flat) == 1:
            return "logits" if "logits" in flat else flat[0]
        raise ModelUnavailableError(f"{path} gives no logits")

    def logits(
        self,
        ids: NDArray[np.int64],
        mask: NDArray[np.int64],
        segments: NDArray[np.int64],
    ) -> NDArray[np.float32]:
        """Shape (rows, labels), of ids, mask and segment ids (rows, tokens).

        Raises `ModelFailedError`, `ClosedError`.
        """
        return self._run(ids, mask, segments)
