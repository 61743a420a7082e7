"""Bodies of batches and of deletions by list or filter."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ragbase.models.documents import CollectionName, DocumentOut
from ragbase.models.jobs import Job

__all__ = [
    "BatchError",
    "BatchOut",
    "BatchResult",
    "DeleteIn",
    "DeleteOut",
]


class BatchError(BaseModel):
    """Why an item was not stored."""

    code: str = Field(description="Stable, snake_case; as the document would have got alone.")
    message: str
    field: str | None = Field(
        default=None, description="Dotted path of what to change in the item, where known."
    )


class BatchResult(BaseModel):
    """What became of one item; exactly one of `document`, `job` and `error` is there."""

    index: int = Field(description="Position of the item: from 0, blank lines not counted.")
    status: int = Field(description="The HTTP status that the item would have had alone.")
    document: DocumentOut | None = None
    job: Job | None = Field(default=None, description="With `Prefer: respond-async`.")
    error: BatchError | None = None


class BatchOut(BaseModel):
    """One result an item, in their order."""

    results: list[BatchResult]


class DeleteIn(BaseModel):
    """Which documents to remove: exactly one of `ids` and `filter`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"filter": {"year": {"lt": 2020}}, "dry_run": True}},
    )

    ids: list[Annotated[int, Field(strict=True)]] | None = Field(
        default=None, description="At most `RAGBASE_MAX_BATCH`; none is an error."
    )
    filter: dict[str, Any] | None = Field(
        default=None,
        description="As in searches. One that every document matches by form, such as `{}`, is "
        'refused; `{"@id": {"exists": true}}` says all.',
    )
    collection: CollectionName | None = Field(
        default=None,
        description="With `filter`: left out, `default`. With `ids`: left out, any collection.",
    )
    dry_run: bool = Field(default=False, description="true: count, and remove nothing.")


class DeleteOut(BaseModel):
    """How many documents were removed."""

    deleted: int = Field(description="Documents removed, or with `dry_run` those that would be.")
    missing: list[int] = Field(
        default_factory=list, description="Those of `ids` that are not there, in the order given."
    )
    dry_run: bool = False
