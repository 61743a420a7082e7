"""Bodies of the concept and relation routes (contract §7, with our additions)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ragbase.models.documents import CollectionName

__all__ = [
    "NAME_CHARS_MAX",
    "ConceptDetail",
    "ConceptIn",
    "ConceptName",
    "ConceptOut",
    "ConceptPatch",
    "OutgoingRelation",
    "RelationIn",
    "RelationOut",
]

NAME_CHARS_MAX = 512
"""Fits an index row in any script."""
TYPE_CHARS_MAX = 256
DESCRIPTION_CHARS_MAX = 20_000

ConceptName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=NAME_CHARS_MAX,
        description="Unique in its collection; case and blanks matter.",
    ),
]
ConceptType = Annotated[str, Field(max_length=TYPE_CHARS_MAX, description="A word of your own.")]
Description = Annotated[str, Field(max_length=DESCRIPTION_CHARS_MAX)]
Metadata = Annotated[dict[str, Any], Field(description="Free JSON.")]
ShownCollection = Annotated[
    str | None, Field(default=None, description="Absent: it belongs to `default`.")
]


class ConceptIn(BaseModel):
    """A concept to store; one of the same name is replaced, with the defaults for what is left out."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "name": "Reciprocal rank fusion",
                "type": "Method",
                "description": "Adds 1 / (60 + rank) over all lists.",
            }
        }
    )

    name: ConceptName
    type: ConceptType = "Entity"
    description: Description = ""
    metadata: Metadata = Field(default_factory=dict)
    collection: CollectionName = "default"


def _without_defaults(schema: dict[str, Any]) -> None:
    """What is left out has no default, but stays as it is."""
    for each in schema["properties"].values():
        each.pop("default", None)


class ConceptPatch(BaseModel):
    """A change of a concept: what is left out stays."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)

    name: ConceptName = Field(default="")
    type: ConceptType = Field(default="")
    description: Description = Field(default="")
    metadata: Metadata = Field(default_factory=dict, description="Replaces the metadata.")


class ConceptOut(BaseModel):
    """A stored concept."""

    id: int
    name: str
    type: str
    description: str
    metadata: dict[str, Any]
    collection: ShownCollection


class OutgoingRelation(BaseModel):
    """A relation from a concept to another."""

    relation_type: str
    target: str
    target_id: int


class ConceptDetail(ConceptOut):
    """A stored concept with the relations that start at it."""

    relations: list[OutgoingRelation] = Field(
        description="By type, target and id; the first 1,000. `X-Total-Count` tells how many."
    )


class RelationIn(BaseModel):
    """A relation from one concept to another of the same collection; the same again is replaced."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "source_name": "Reciprocal rank fusion",
                "target_name": "Hybrid search",
                "relation_type": "part of",
            }
        }
    )

    source_name: ConceptName
    target_name: ConceptName
    relation_type: str = Field(
        min_length=1,
        max_length=TYPE_CHARS_MAX,
        description="Made upper-case; all but A–Z, 0–9 and `_` becomes `_`; `REL_` goes in front "
        "where it does not start with a letter.",
    )
    metadata: Metadata = Field(default_factory=dict)
    collection: CollectionName = "default"


class RelationOut(BaseModel):
    """A stored relation, from its true source to its true target (names of concepts)."""

    id: int
    source: str
    target: str
    relation_type: str
    metadata: dict[str, Any]
    collection: ShownCollection
