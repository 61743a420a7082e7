"""How a model is to be opened, whatever backend runs it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ragbase_inference.config import Pooling

__all__ = ["Dtype", "OpenOptions"]

Dtype: TypeAlias = Literal["float32", "float16", "bfloat16", "int8"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOptions:
    """None always means: what suits the model and the machine."""

    device: str | None = None
    """``cpu``, ``cuda``, ``cuda:1``; as torch names them."""
    dtype: Dtype | None = None
    pooling: Pooling | None = None
    """Other than the model's files say; embedding models only."""
    threads: int = 0
    """Of a CPU; 0 takes all usable cores."""
    instruction: str | None = None
    """What a Qwen3-Reranker is told to look for; None is its publisher's own sentence."""
    report: Callable[[str], None] = _log.info
    """Told before anything slow begins."""
