"""Of one model: the device and the numbers it runs in, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from ragbase_inference.backends.options import OpenOptions
from ragbase_inference.backends.torch_device import (
    batch_tokens,
    choose_device,
    choose_dtype,
    dtype_name,
    use_threads,
)
from ragbase_inference.kinds import Backend, Kind, ModelFacts
from ragbase_inference.resolve import ResolvedModel

__all__ = ["Placement", "place"]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a model runs and in what."""

    device: torch.device
    dtype: torch.dtype

    def facts(
        self,
        found: ResolvedModel,
        kind: Kind,
        *,
        max_tokens: int,
        backend: Backend = "torch",
        dimension: int | None = None,
        pooling: str | None = None,
        labels: tuple[str, ...] = (),
    ) -> ModelFacts:
        """What is known of the model once it is loaded here."""
        return ModelFacts(
            model=found.name,
            revision=found.revision,
            kind=kind,
            backend=backend,
            device=str(self.device),
            dtype=dtype_name(self.dtype),
            max_tokens=max_tokens,
            batch_tokens=batch_tokens(self.device),
            dimension=dimension,
            pooling=pooling,
            labels=labels,
        )


def place(
    found: ResolvedModel,
    options: OpenOptions,
    config: Mapping[str, Any],
    *,
    default: torch.dtype | None = None,
) -> Placement:
    """Choose for ``found``, whose ``config.json`` is ``config``.

    ``default``: the numbers where none are asked for, if not what suits the device. Raises
    `ModelUnavailableError`.
    """
    device = choose_device(options.device)
    stored = config.get("dtype") or config.get("torch_dtype")
    if options.dtype is None and default is not None:
        dtype = default
    else:
        dtype = choose_dtype(options.dtype, device, str(stored) if stored else None)
    use_threads(device, options.threads)
    options.report(f"loading {found.name} with torch on {device} in {dtype_name(dtype)}")
    return Placement(device, dtype)
