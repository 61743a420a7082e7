"""Custom resources as the operator reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ragbase_operator.models.backups import RagBaseBackupSpec, RagBaseRestoreSpec
from ragbase_operator.models.benchmark import RagBaseBenchmarkSpec
from ragbase_operator.models.ragbase import RagBaseSpec
from ragbase_operator.models.tasks import TaskSpec

__all__ = ["RagBase", "RagBaseBackup", "RagBaseBenchmark", "RagBaseRestore", "Resource", "Task"]

Spec = TypeVar("Spec")
TaskSpecT = TypeVar("TaskSpecT", bound=TaskSpec)


@dataclass(frozen=True, slots=True)
class Resource(Generic[Spec]):
    """A custom resource: its identity, what is wished, and the status that was written last."""

    name: str
    namespace: str
    uid: str
    generation: int
    spec: Spec
    annotations: dict[str, str] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    deleted: bool = False
    """Whether it is being deleted."""


class RagBase(Resource[RagBaseSpec]):
    """A whole retrieval stack."""

    __slots__ = ()


class Task(Resource[TaskSpecT]):
    """One Job for a RagBase."""

    __slots__ = ()


class RagBaseBackup(Task[RagBaseBackupSpec]):
    """One backup."""

    __slots__ = ()


class RagBaseRestore(Task[RagBaseRestoreSpec]):
    """One restore."""

    __slots__ = ()


class RagBaseBenchmark(Task[RagBaseBenchmarkSpec]):
    """One benchmark."""

    __slots__ = ()
