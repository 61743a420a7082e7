"""What ONNX Runtime is asked to do, and can: this package runs it on the CPU alone."""

from __future__ import annotations

from ragbase_inference.backends.options import Dtype, OpenOptions
from ragbase_inference.config import ModelConfig, Precision
from ragbase_inference.errors import ModelUnavailableError

__all__ = ["ONNX_DTYPES", "dtype_name", "onnx_precision"]

ONNX_DTYPES: tuple[Dtype | None, ...] = (None, "float32", "int8")


def onnx_precision(config: ModelConfig, options: OpenOptions, *, default: Precision) -> Precision:
    """Precision of the matrix products; raises `ModelUnavailableError` on what only torch does."""
    if options.device not in (None, "cpu"):
        raise ModelUnavailableError(
            f"{config.name}: the onnx backend runs on the CPU, not on {options.device}"
        )
    if options.dtype not in ONNX_DTYPES:
        raise ModelUnavailableError(
            f"{config.name}: the onnx backend computes in float32 or int8, not {options.dtype}"
        )
    if options.dtype is None:
        return default
    return "int8" if options.dtype == "int8" else "fp32"


def dtype_name(precision: Precision) -> Dtype:
    """The same as the servers of models call it."""
    return "int8" if precision == "int8" else "float32"
