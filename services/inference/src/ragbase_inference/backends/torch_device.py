"""Where torch runs a model, and in what numbers. Nothing here asks for a vendor.

ROCm's build of torch names its devices ``cuda`` too, so what holds for one holds for the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from ragbase_inference.backends.options import Dtype
from ragbase_inference.cores import usable_cores
from ragbase_inference.errors import ModelFailedError, ModelUnavailableError, OutOfMemoryError

__all__ = [
    "batch_tokens",
    "choose_device",
    "choose_dtype",
    "dtype_name",
    "empty_cache",
    "run_on",
    "use_threads",
    "weight_bytes",
]

Result = TypeVar("Result")

_DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
_BATCH_TOKENS_CPU = 1024
"""Larger batches are no quicker on a CPU and need memory in proportion."""
_BATCH_TOKENS_GPU = 16_384
"""As Text Embeddings Inference has it."""
_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "ALLOC_FAILED")
"""Torch has a class for the GPU's want of memory only: its CPU allocator and its libraries of
linear algebra raise a plain `RuntimeError`."""


def choose_device(asked: str | None) -> torch.device:
    """``asked``, else the accelerator that torch reports, else the CPU; an index is filled in.

    Raises `ModelUnavailableError` where there is no such device.
    """
    found = torch.accelerator.current_accelerator(check_available=True)
    try:
        device = torch.device(asked) if asked else found or torch.device("cpu")
    except RuntimeError as error:
        raise ModelUnavailableError(f"{asked!r} is no device that torch knows: {error}") from error
    if device.type == "cpu":
        return torch.device("cpu")
    count = torch.accelerator.device_count() if found else 0
    if found is None or found.type != device.type or (device.index or 0) >= count:
        there = f"{count} of kind {found.type}" if found else "no GPU"
        raise ModelUnavailableError(
            f"there is no device {asked}: torch {torch.__version__} reports {there}; leave the "
            "device out to take what there is, or name cpu"
        )
    return torch.device(device.type, device.index or 0)


def choose_dtype(
    asked: Dtype | None, device: torch.device, stored: str | None = None
) -> torch.dtype:
    """``asked``, else fp32 on a CPU and half precision on a GPU.

    Of the halves bfloat16 is taken where the device has it, for it overflows no sooner than fp32,
    unless the weights are ``stored`` as float16. Raises `ModelUnavailableError` for int8.
    """
    if asked is not None:
        if asked not in _DTYPES:
            raise ModelUnavailableError(
                f"the torch backend does not compute in {asked}: ask for float32, float16 or "
                "bfloat16, or for the onnx backend"
            )
        return _DTYPES[asked]
    if device.type == "cpu":
        return torch.float32
    if stored == "float16" or not _has_bfloat16(device):
        return torch.float16
    return torch.bfloat16


def _has_bfloat16(device: torch.device) -> bool:
    """Natively: emulated it would be slower than float32."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return bool(device.type == "xpu")


def dtype_name(dtype: torch.dtype) -> str:
    """``float32``, ``float16``, ``bfloat16``."""
    return str(dtype).removeprefix("torch.")


def batch_tokens(device: torch.device) -> int:
    """Most tokens of a batch, padding included, that pay on ``device``."""
    return _BATCH_TOKENS_CPU if device.type == "cpu" else _BATCH_TOKENS_GPU


def use_threads(device: torch.device, threads: int) -> None:
    """Let torch use ``threads`` of the CPU, 0 for all usable ones; one number for the process."""
    if device.type == "cpu":
        torch.set_num_threads(threads or usable_cores())


def weight_bytes(module: torch.nn.Module) -> int:
    """Bytes of all parameters and buffers; shared ones count once."""
    held = {
        tensor.data_ptr(): tensor.nbytes for tensor in [*module.parameters(), *module.buffers()]
    }
    return sum(held.values())


def empty_cache(device: torch.device) -> None:
    """Give memory that torch keeps for reuse back to the device."""
    if device.type != "cpu":
        torch.accelerator.empty_cache()


def run_on(device: torch.device, call: Callable[[], Result]) -> Result:
    """What ``call`` gives, without gradients; its failures become this package's.

    Raises `OutOfMemoryError`, after the memory of the failed attempt was given back, or
    `ModelFailedError`.
    """
    try:
        with torch.inference_mode():
            return call()
    except (RuntimeError, MemoryError, IndexError, ValueError) as error:
        if not _is_out_of_memory(error):
            raise ModelFailedError(f"torch failed on {device}: {error}") from error
        reason = str(error).split("\n", 1)[0]
    # Outside of `except`: the frames of the error, which hold the batch's tensors, are gone.
    empty_cache(device)
    raise OutOfMemoryError(f"{device} has too little memory for this batch: {reason}")


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return any(sign in str(error) for sign in _OUT_OF_MEMORY)
