"""Conditions, as Kubernetes' own kinds have them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part
from ragbase_operator.models.texts import by_key

__all__ = ["Condition", "Conditions", "Timestamp"]

Timestamp = Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})]
"""A moment as RFC 3339 has it: ``2026-11-30T08:00:00Z``."""


class Condition(Part):
    """One observation, as metav1.Condition."""

    type: str = Field(
        min_length=1, max_length=316, description="What was looked at, such as Ready."
    )
    status: Literal["True", "False", "Unknown"] = Field(description="Whether it holds.")
    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the spec that it is about."
    )
    last_transition_time: Timestamp = Field(description="When `status` last changed.")
    reason: str = Field(
        min_length=1,
        max_length=1024,
        pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
        description="Why, as one word for programs.",
    )
    message: str = Field(
        default="", max_length=32_768, description="Why, and what to do, for people."
    )


Conditions = Annotated[list[Condition], Field(max_length=32, json_schema_extra=by_key("type"))]
"""At most one condition of a type."""
