"""Whether this machine has a GPU that torch can use; asks for no vendor."""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any

__all__ = ["has_accelerator", "is_installed"]


def is_installed(package: str) -> bool:
    """Whether ``package`` can be imported; does not import it."""
    return importlib.util.find_spec(package) is not None


@cache
def has_accelerator() -> bool:
    """Whether torch is installed and reports a GPU (CUDA, ROCm, or another of its kinds)."""
    if not is_installed("torch"):
        return False
    torch: Any = importlib.import_module("torch")
    return bool(
        torch.accelerator.is_available()
        if hasattr(torch, "accelerator")
        else torch.cuda.is_available()
    )
