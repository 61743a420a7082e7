"""What all models of custom resources share: camelCase names, no unknown fields, CEL rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

__all__ = ["Part", "Rule", "unchanged"]


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL rule of the schema (``x-kubernetes-validations``), checked by the API server.

    ``rule`` sees the object as ``self`` and, where it is about a change, the old one as
    ``oldSelf``. ``message`` says what to do. ``reason`` is one of Kubernetes' field errors.
    """

    rule: str
    message: str
    reason: str = "FieldValueInvalid"


def unchanged(field: str) -> str:
    """CEL: an optional ``field`` is as it was, there or not.

    Comparing `self.?field` would be shorter, but the API server takes the cost of comparing two
    optionals for unbounded and refuses the rule.
    """
    return (
        f"has(self.{field}) == has(oldSelf.{field}) && "
        f"(!has(self.{field}) || self.{field} == oldSelf.{field})"
    )


class Part(BaseModel):
    """A part of a custom resource; immutable once read."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True
    )

    rules: ClassVar[tuple[Rule, ...]] = ()
    """CEL rules of this object."""
