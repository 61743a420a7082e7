"""What a process serves, and within which bounds."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["ModelSpec", "ServingOptions", "parse_spec"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model under the ``name`` it has in paths and metrics."""

    name: str
    model: str
    """Hugging Face id or folder."""
    revision: str | None = None
    served_name: str = ""
    """What answers call it; empty: ``model``."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} cannot name a model: letters, digits, '.', '_' and '-', at most 63"
            )

    @property
    def shown_name(self) -> str:
        """What answers call it."""
        return self.served_name or self.model


def parse_spec(text: str) -> ModelSpec:
    """``name=id[@revision]``; raises `ValueError` that says what is wrong."""
    name, equals, rest = text.partition("=")
    model, at, revision = rest.rpartition("@")
    if not at:
        model, revision = rest, ""
    if not equals or not model or (at and not revision):
        raise ValueError(f"{text!r} is not of the form name=id or name=id@revision")
    return ModelSpec(name, model, revision or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingOptions:
    """Bounds of each model; TEI's names and defaults where it has them."""

    max_client_batch_size: int = 32
    """Most inputs of a request."""
    max_concurrent_requests: int = 512
    """Permits: most inputs being worked on or waiting, over all requests."""
    max_batch_tokens: int = 16_384
    """Most tokens of a batch, padding included; what pays on the device may be less."""
    max_batch_requests: int | None = None
    """Most inputs of a batch."""
    auto_truncate: bool = True
    """Whether inputs are cut to the model's limit where a request does not say."""
    default_prompt: str | None = None
    """Put before each input of an embedding model where a request names no prompt."""
    default_prompt_name: str | None = None
    """The same by name, out of the model's own prompts."""
    batching: bool = True
    """Whether inputs share a batch at all."""
    lazy: bool = False
    """Whether a model is loaded by its first request rather than at the start."""
    idle_unload_s: float | None = None
    """Seconds without a request after which a model is unloaded; None: never."""
    tokenization_workers: int = 1
    """Threads that tokenise long inputs."""

    @property
    def batch_items(self) -> int | None:
        """Most inputs of a batch, batching or not; None: as many as fit."""
        return self.max_batch_requests if self.batching else 1
