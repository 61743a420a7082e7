"""What ``kubectl get`` shows of each kind, and what ``kubectl scale`` turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragbase_operator.models.kinds import BACKUP, BENCHMARK, RAGBASE, RESTORE, Kind

__all__ = ["Column", "columns", "scale"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``; those of ``priority`` 1 only with ``-o wide``."""

    name: str
    type: str
    path: str
    priority: int = 0

    def as_json(self) -> dict[str, Any]:
        """As a CRD has it."""
        column = {"name": self.name, "type": self.type, "jsonPath": self.path}
        return column | ({"priority": self.priority} if self.priority else {})


_AGE = Column("Age", "date", ".metadata.creationTimestamp")


def columns(kind: Kind) -> list[Column]:
    """The columns of a kind, beside its name."""
    return [*_COLUMNS[kind.name], _AGE]


def scale(kind: Kind) -> dict[str, str] | None:
    """The scale subresource: the pods of the API of a RagBase."""
    if kind is not RAGBASE:
        return None
    return {
        "specReplicasPath": ".spec.api.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }


def _condition(name: str, what: str, column: str, priority: int = 0) -> Column:
    path = f'.status.conditions[?(@.type=="{name}")].{what}'
    return Column(column, "string", path, priority)


_TASK = (
    Column("RagBase", "string", ".spec.ragbase"),
    _condition("Complete", "status", "Complete"),
    _condition("Complete", "reason", "Reason"),
)
_COLUMNS = {
    RAGBASE.name: (
        _condition("Ready", "status", "Ready"),
        _condition("Ready", "reason", "Reason"),
        Column("Documents", "integer", ".status.index.documents"),
        Column("URL", "string", ".status.endpoints.api"),
        _condition("Ready", "message", "Message", priority=1),
    ),
    BACKUP.name: (
        *_TASK,
        Column("Documents", "integer", ".status.documents"),
        Column("Path", "string", ".status.path", priority=1),
    ),
    RESTORE.name: (*_TASK, Column("Documents", "integer", ".status.documents")),
    BENCHMARK.name: (
        *_TASK,
        Column("nDCG@10", "number", '.status.quality[?(@.mode=="hybrid")].ndcg10'),
        Column("Errors", "integer", ".status.errors"),
    ),
}
