"""Token ids of several texts as tensors of one shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ragbase_inference.kinds import Side
from ragbase_inference.tokens import Encoded

__all__ = ["Batch", "pad"]


@dataclass(frozen=True, slots=True)
class Batch:
    """All (rows, longest row), int64, on the device."""

    ids: torch.Tensor
    mask: torch.Tensor
    """1 for tokens, 0 for padding."""
    segments: torch.Tensor
    """Of each token, the text of a pair that it belongs to."""


def pad(batch: Sequence[Encoded], pad_id: int, device: torch.device, side: Side = "right") -> Batch:
    """The texts, each lengthened at its ``side`` by ``pad_id``."""
    shape = (len(batch), max(len(one) for one in batch))
    ids = torch.full(shape, pad_id, dtype=torch.int64)
    mask = torch.zeros(shape, dtype=torch.int64)
    segments = torch.zeros(shape, dtype=torch.int64)
    for row, one in enumerate(batch):
        place = slice(0, len(one)) if side == "right" else slice(shape[1] - len(one), shape[1])
        ids[row, place] = torch.tensor(one.ids)
        mask[row, place] = 1
        if one.segments is not None:
            segments[row, place] = torch.tensor(one.segments)
    return Batch(ids.to(device), mask.to(device), segments.to(device))
