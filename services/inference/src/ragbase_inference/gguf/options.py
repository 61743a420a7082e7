"""How local models are run, and within which bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ragbase_inference.gguf.facts import GgufKind

__all__ = ["GgufOptions", "LlamaServer"]


@dataclass(frozen=True, slots=True)
class LlamaServer:
    """A model that a llama.cpp server of its own runs."""

    kind: GgufKind
    url: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufOptions:
    """Bounds over all models of a process."""

    memory_bytes: int | None = None
    """Most that loaded models may take together; None: no bound."""
    threads: int = 0
    """Of each model; 0: the usable cores."""
    gpu_layers: int = -1
    """-1: as many as fit the GPU, where xllamacpp was built for one; 0: none."""
    chat_context: int = 8192
    """Most tokens of prompt and answer of a chat model, if it reads so many."""
    text_context: int = 2048
    """Most tokens of an input of other models, if they read so many: memory grows with it."""
    chat_parallel: int = 2
    """Answers written at once by a model."""
    text_parallel: int = 1
    """Texts in a batch. On a CPU more gain nothing, and a vector would depend, in its fourth
    digit, on the texts that share its batch."""
    idle_s: float = 1800.0
    """Seconds without use after which a model is unloaded."""
    sweep_s: float = 900.0
    """Seconds between two looks for such models."""
    load_timeout_s: float = 600.0
    wait_s: float = 120.0
    """Longest that a call waits for others to give a model or memory back."""
    answer_timeout_s: float = 600.0
    """Longest for one answer of a model."""
    servers: Mapping[str, LlamaServer] = field(default_factory=dict)
    """By name."""
