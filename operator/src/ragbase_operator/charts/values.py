"""What the values of both charts share."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ragbase_operator.models.base import Part
from ragbase_operator.models.texts import Annotations, Labels, ObjectName

__all__ = ["NAMES", "Flag", "PullSecret"]

NAMES: dict[str, Any] = {"max_length": 63, "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?)?$"}
"""Bounds of a name that may be left empty: a DNS label of RFC 1035."""


class PullSecret(Part):
    """A Secret of the release's namespace that pulls images."""

    name: ObjectName = Field(description="Name of the Secret.")


class Flag(Part):
    """Something that is made or not, and how it is found."""

    enabled: bool = Field(default=False, description="Whether it is made.")
    labels: Labels = Field(default_factory=dict, description="Further labels.")
    annotations: Annotations = Field(default_factory=dict, description="Annotations.")
