"""How the pods of a workload may be changed: resources, placement, environment."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ragbase_operator.models.base import Part, Rule

__all__ = [
    "Image",
    "ObjectName",
    "PodOverrides",
    "Quantity",
    "Resources",
    "SecretKey",
    "SecretRef",
    "Storage",
]

Quantity = Annotated[
    str,
    Field(
        pattern=r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$",
        max_length=32,
        examples=["2Gi"],
    ),
]
"""A Kubernetes quantity: ``500m``, ``2Gi``."""
ObjectName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=253,
        pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
    ),
]
"""Name of a Kubernetes object, as RFC 1123 has a subdomain."""
Name = Annotated[str, Field(min_length=1, max_length=253)]


class Resources(Part):
    """Requests and limits of the main container."""

    requests: dict[str, Quantity] = Field(default_factory=dict, max_length=16)
    limits: dict[str, Quantity] = Field(default_factory=dict, max_length=16)


class Image(Part):
    """A container image; what is left out is the operator's default."""

    repository: str | None = Field(default=None, max_length=512, description="Registry and name.")
    tag: str | None = Field(default=None, max_length=128)
    digest: str | None = Field(
        default=None, pattern="^sha256:[0-9a-f]{64}$", description="Wins over the tag."
    )
    pull_policy: str | None = Field(default=None, pattern="^(Always|IfNotPresent|Never)$")


class SecretRef(Part):
    """A Secret in the namespace of the RagBase."""

    name: Name


class SecretKey(Part):
    """One key of a Secret in the namespace of the RagBase."""

    name: Name
    key: Name


class Storage(Part):
    """A volume that is claimed for a workload. The class is set once; the size only grows."""

    size: Quantity = "10Gi"
    storage_class_name: str | None = Field(
        default=None, max_length=253, description="Left out: the cluster's default class."
    )
    rules = (
        Rule(
            "self.?storageClassName == oldSelf.?storageClassName",
            "the storage class of an existing volume cannot be changed",
        ),
        Rule(
            "quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",
            "a volume can only grow: restore a backup into a smaller one",
        ),
    )


class PodOverrides(Part):
    """Changes to the pods of a workload, passed on as Kubernetes knows them."""

    labels: dict[str, str] = Field(default_factory=dict, max_length=32)
    annotations: dict[str, str] = Field(default_factory=dict, max_length=32)
    node_selector: dict[str, str] = Field(default_factory=dict, max_length=32)
    tolerations: list[dict[str, Any]] = Field(default_factory=list, max_length=32)
    affinity: dict[str, Any] | None = None
    topology_spread_constraints: list[dict[str, Any]] | None = Field(default=None, max_length=16)
    priority_class_name: str | None = Field(default=None, max_length=253)
    runtime_class_name: str | None = Field(default=None, max_length=253)
    termination_grace_period_seconds: int | None = Field(default=None, ge=0, le=86_400)
    env: list[dict[str, Any]] = Field(
        default_factory=list,
        max_length=64,
        description="Environment variables as in a container; they win over the operator's.",
    )
    env_from: list[dict[str, Any]] = Field(default_factory=list, max_length=16)
    supplemental_groups: list[int] = Field(default_factory=list, max_length=16)
