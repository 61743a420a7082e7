"""The kinds of object that builders make."""

from __future__ import annotations

from typing import Final, NamedTuple

from ragbase_operator.models.manifest import Manifest

__all__ = [
    "CHILD_KINDS",
    "DATA_KINDS",
    "FOREIGN_KINDS",
    "FRESH",
    "POD_KINDS",
    "Kind",
    "holds_data",
    "kind_of",
]


class Kind(NamedTuple):
    """What names a kind of object."""

    api_version: str
    kind: str

    @property
    def foreign_name(self) -> str:
        """As in `Inputs.kinds`: `ServiceMonitor.monitoring.coreos.com`."""
        return f"{self.kind}.{self.api_version.split('/')[0]}"


CHILD_KINDS: Final = (
    Kind("v1", "ConfigMap"),
    Kind("v1", "Secret"),
    Kind("v1", "Service"),
    Kind("v1", "PersistentVolumeClaim"),
    Kind("apps/v1", "Deployment"),
    Kind("apps/v1", "StatefulSet"),
    Kind("batch/v1", "Job"),
    Kind("batch/v1", "CronJob"),
    Kind("autoscaling/v2", "HorizontalPodAutoscaler"),
    Kind("policy/v1", "PodDisruptionBudget"),
    Kind("networking.k8s.io/v1", "Ingress"),
    Kind("networking.k8s.io/v1", "NetworkPolicy"),
)
"""Kinds that every cluster has: all of them are listed, watched and pruned by the owner label."""

FOREIGN_KINDS: Final = (
    Kind("postgresql.cnpg.io/v1", "Cluster"),
    Kind("monitoring.coreos.com/v1", "ServiceMonitor"),
    Kind("monitoring.coreos.com/v1", "PodMonitor"),
    Kind("monitoring.coreos.com/v1", "PrometheusRule"),
)
"""Kinds of other operators, made only where their CRDs exist; pruned likewise."""

DATA_KINDS: Final = frozenset({"PersistentVolumeClaim", "Secret", "Cluster"})
"""Kinds that hold what cannot be made again. They are never pruned while the RagBase lives: under
deletionPolicy Retain they have no owner reference and outlive it, under Delete they go with it."""

POD_KINDS: Final = frozenset({"Deployment", "StatefulSet", "Job"})
"""Kinds whose pods are waited for; a CronJob's are not."""

FRESH: Final = ("database", "memgraph", "admin", "probe", "client")
"""Purposes of `Inputs.fresh`; each value is 64 random hexadecimal signs (256 bits)."""


def kind_of(manifest: Manifest) -> Kind:
    """The kind of an object."""
    return Kind(manifest["apiVersion"], manifest["kind"])


def holds_data(manifest: Manifest) -> bool:
    """Whether an object is a volume, a generated Secret or a database: never pruned."""
    return manifest["kind"] in DATA_KINDS
