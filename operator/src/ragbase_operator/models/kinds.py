"""The kinds of the custom resources: how the API server knows them."""

from __future__ import annotations

from dataclasses import dataclass

from ragbase_operator.models.backups import (
    RagBaseBackupSpec,
    RagBaseBackupStatus,
    RagBaseRestoreSpec,
    RagBaseRestoreStatus,
)
from ragbase_operator.models.base import Part
from ragbase_operator.models.benchmark import RagBaseBenchmarkSpec, RagBaseBenchmarkStatus
from ragbase_operator.models.ragbase import RagBaseSpec, RagBaseStatus

__all__ = [
    "API_VERSION",
    "BACKUP",
    "BENCHMARK",
    "GROUP",
    "KINDS",
    "RAGBASE",
    "RESTORE",
    "VERSION",
    "Kind",
]

GROUP = "ragbase.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of custom resource, all of them namespaced."""

    name: str
    plural: str
    short: str
    spec: type[Part]
    status: type[Part]


RAGBASE = Kind("RagBase", "ragbases", "rb", RagBaseSpec, RagBaseStatus)
BACKUP = Kind("RagBaseBackup", "ragbasebackups", "rbbackup", RagBaseBackupSpec, RagBaseBackupStatus)
RESTORE = Kind(
    "RagBaseRestore", "ragbaserestores", "rbrestore", RagBaseRestoreSpec, RagBaseRestoreStatus
)
BENCHMARK = Kind(
    "RagBaseBenchmark", "ragbasebenchmarks", "rbbench", RagBaseBenchmarkSpec, RagBaseBenchmarkStatus
)
KINDS = (RAGBASE, BACKUP, RESTORE, BENCHMARK)
