"""How the pods of a workload may be changed: image, resources, placement, environment."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from ragbase_operator.models.base import Part, Rule, unchanged
from ragbase_operator.models.texts import (
    SET,
    Annotations,
    Labels,
    ObjectName,
    PassThrough,
    Quantity,
    SecretKeyName,
    StorageSize,
)

__all__ = [
    "Image",
    "ObjectName",
    "PodOverrides",
    "Quantity",
    "Resources",
    "SecretKey",
    "SecretRef",
    "Storage",
    "Volume",
    "volume_rules",
]

_Amounts = Annotated[dict[str, Quantity], Field(max_length=16)]


_ENV_SCHEMA: dict[str, Any] = {
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": 253,
            "description": "Name of the variable.",
        }
    },
    "required": ["name"],
}


def _named(item: dict[str, Any]) -> dict[str, Any]:
    if not item.get("name"):
        raise ValueError("an environment variable needs a `name`")
    return item


EnvVar = Annotated[
    PassThrough,
    AfterValidator(_named),
    Field(json_schema_extra=_ENV_SCHEMA),
]
"""As in a container: ``name`` with ``value`` or ``valueFrom``."""


class Resources(Part):
    """Requests and limits of the main container, such as cpu, memory and ephemeral-storage."""

    requests: _Amounts = Field(default_factory=dict, description="What is set aside for it.")
    limits: _Amounts = Field(default_factory=dict, description="What it cannot exceed.")


class Image(Part):
    """A container image; what is left out is the operator's default."""

    repository: str | None = Field(
        default=None,
        min_length=1,
        max_length=512,
        pattern="^[A-Za-z0-9][A-Za-z0-9._:/-]*$",
        description="Registry and name, without a tag.",
    )
    tag: str | None = Field(
        default=None,
        max_length=128,
        pattern="^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        description="Tag; a version, not `latest`.",
    )
    digest: str | None = Field(
        default=None,
        max_length=71,
        pattern="^sha256:[0-9a-f]{64}$",
        description="Digest of the image; wins over the tag.",
    )
    pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(
        default=None, description="When nodes pull it; left out: Kubernetes' own choice."
    )


class SecretRef(Part):
    """A Secret in the same namespace."""

    name: ObjectName = Field(description="Name of the Secret.")


class SecretKey(Part):
    """One key of a Secret in the same namespace."""

    name: ObjectName = Field(description="Name of the Secret.")
    key: SecretKeyName = Field(description="Key in it.")


def volume_rules(path: str = "", there: str = "") -> tuple[Rule, Rule]:
    """What may not change of a volume at ``path``, below the object that has the rules.

    ``there``: CEL that says whether there was one. Before that its defaults are in the object
    already, and must not bind whoever switches its workload on.
    """
    prefix, guard = (f"{path}." if path else ""), (f"!({there}) || " if there else "")
    size = f"{prefix}size"
    return (
        Rule(
            f"{guard}({unchanged(f'{prefix}storageClassName')})",
            "the storage class of a volume is set once: back up, and restore into a new RagBase",
        ),
        Rule(
            f"{guard}quantity(self.{size}).compareTo(quantity(oldSelf.{size})) >= 0",
            "a volume can only grow: back up, and restore into a new RagBase with a smaller one",
        ),
    )


class Volume(Part):
    """A volume that is claimed for a workload. Its class is set once; its size only grows."""

    size: StorageSize = Field(default="10Gi", description="Size with its unit. It can only grow.")
    storage_class_name: ObjectName | None = Field(
        default=None, description="Set once. Left out: the cluster's default class."
    )


class Storage(Volume):
    """A volume that is there from the beginning. Its class is set once; its size only grows."""

    rules = volume_rules()


class PodOverrides(Part):
    """Changes to the pods of a workload, handed on as Kubernetes knows them."""

    labels: Labels = Field(default_factory=dict, description="Labels added to the pods.")
    annotations: Annotations = Field(
        default_factory=dict, description="Annotations added to the pods."
    )
    node_selector: Labels = Field(
        default_factory=dict, description="Labels that a node must have; added to a GPU's."
    )
    tolerations: list[PassThrough] = Field(
        default_factory=list, max_length=32, description="Taints that are tolerated."
    )
    affinity: PassThrough | None = Field(
        default=None, description="Affinity, as in a pod; replaces the operator's."
    )
    topology_spread_constraints: list[PassThrough] | None = Field(
        default=None, max_length=16, description="Spread, as in a pod; replaces the operator's."
    )
    priority_class_name: ObjectName | None = Field(
        default=None, description="PriorityClass of the pods."
    )
    runtime_class_name: ObjectName | None = Field(
        default=None, description="RuntimeClass of the pods."
    )
    termination_grace_period_seconds: int | None = Field(
        default=None, ge=0, le=86_400, description="Time to end; left out: what the workload needs."
    )
    env: list[EnvVar] = Field(
        default_factory=list,
        max_length=64,
        description="Environment variables as in a container; they win over the operator's.",
    )
    env_from: list[PassThrough] = Field(
        default_factory=list,
        max_length=16,
        description="ConfigMaps and Secrets whose keys become environment variables.",
    )
    supplemental_groups: list[Annotated[int, Field(ge=1, le=2_147_483_647)]] = Field(
        default_factory=list,
        max_length=16,
        description="Further groups of the process, such as that of a GPU's device files.",
        json_schema_extra=SET,
    )
