"""The values of the chart ``ragbase``."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ragbase_operator.charts.values import NAMES
from ragbase_operator.models.base import Part
from ragbase_operator.models.texts import Annotations, Labels, PassThrough

__all__ = ["RagBaseValues", "SecretValues"]

_Texts = Annotated[dict[str, str], Field(max_length=64)]


class SecretValues(Part):
    """A Secret of the release."""

    string_data: _Texts = Field(default_factory=dict, description="Values by key.")
    labels: Labels = Field(default_factory=dict, description="Further labels.")
    annotations: Annotations = Field(default_factory=dict, description="Annotations.")
    keep: bool = Field(
        default=False, description="Leave it when the release is uninstalled or no longer has it."
    )


class RagBaseValues(Part):
    """Values of the chart ragbase."""

    name: str = Field(
        default="", **NAMES, description="Name of the RagBase. Empty: that of the release."
    )
    labels: Labels = Field(default_factory=dict, description="Further labels of all objects.")
    annotations: Annotations = Field(
        default_factory=dict,
        description="Annotations of the RagBase, such as `ragbase.dev/paused`.",
    )
    spec: dict[str, Any] = Field(
        default_factory=dict,
        description="The spec of the RagBase, field by field as in docs/crd-reference.md. "
        "The API server fills in what is left out.",
    )
    secrets: Annotated[dict[str, SecretValues], Field(max_length=32)] = Field(
        default_factory=dict,
        description="Secrets that the spec refers to, by name: each has `stringData`, `labels`, "
        "`annotations`, and `keep`. Better: leave them to a secret store, as values are kept in "
        "the release.",
    )
    extra_objects: Annotated[list[PassThrough], Field(max_length=64)] = Field(
        default_factory=list,
        description="Further objects of the release; strings in them are templates.",
    )
