"""Custom resources as the operator reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ragbase_operator.models.ragbase import RagBaseSpec

__all__ = ["RagBase"]


@dataclass(frozen=True, slots=True)
class RagBase:
    """A `RagBase`: its identity, what is wished, and the status that was written last."""

    name: str
    namespace: str
    uid: str
    generation: int
    spec: RagBaseSpec
    annotations: dict[str, str] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    deleted: bool = False
    """Whether it is being deleted."""
