"""From an object of the API server to a resource."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ragbase_operator.models.backups import RagBaseBackupSpec, RagBaseRestoreSpec
from ragbase_operator.models.base import Part
from ragbase_operator.models.benchmark import RagBaseBenchmarkSpec
from ragbase_operator.models.objects import (
    RagBase,
    RagBaseBackup,
    RagBaseBenchmark,
    RagBaseRestore,
    Resource,
)
from ragbase_operator.models.ragbase import RagBaseSpec

__all__ = ["PAUSED", "SPECS", "is_paused", "read_ragbase", "read_task", "version_of"]

PAUSED = "ragbase.dev/paused"
"""Annotation that does what `spec.paused` does, without a change of the spec."""

SPECS: dict[str, type[Part]] = {
    "RagBase": RagBaseSpec,
    "RagBaseBackup": RagBaseBackupSpec,
    "RagBaseRestore": RagBaseRestoreSpec,
    "RagBaseBenchmark": RagBaseBenchmarkSpec,
}
_TASKS: dict[str, type[Resource[Any]]] = {
    "RagBaseBackup": RagBaseBackup,
    "RagBaseRestore": RagBaseRestore,
    "RagBaseBenchmark": RagBaseBenchmark,
}
ResourceT = TypeVar("ResourceT", bound=Resource[Any])


def read_ragbase(body: Mapping[str, Any]) -> RagBase:
    """Raises `pydantic.ValidationError` where the spec is one that the CRD should have refused."""
    return _read(body, RagBase, RagBaseSpec)


def read_task(body: Mapping[str, Any]) -> Resource[Any]:
    """A backup, restore or benchmark, by its kind. Raises as `read_ragbase`."""
    kind = body["kind"]
    return _read(body, _TASKS[kind], SPECS[kind])


def version_of(body: Mapping[str, Any]) -> str:
    """Resource version of an object."""
    return str(body["metadata"].get("resourceVersion", ""))


def is_paused(ragbase: RagBase) -> bool:
    """Whether the operator is to leave everything as it is."""
    return ragbase.spec.paused or ragbase.annotations.get(PAUSED) == "true"


def _read(body: Mapping[str, Any], resource: type[ResourceT], spec: type[Part]) -> ResourceT:
    metadata = body["metadata"]
    return resource(
        name=metadata["name"],
        namespace=metadata["namespace"],
        uid=metadata["uid"],
        generation=metadata.get("generation", 0),
        spec=spec.model_validate(body.get("spec") or {}),
        annotations=dict(metadata.get("annotations") or {}),
        status=dict(body.get("status") or {}),
        deleted=bool(metadata.get("deletionTimestamp")),
    )
