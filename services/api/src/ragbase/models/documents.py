"""Bodies of the document routes (contract §4, with our additions)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from ragbase.limits import COLLECTION_NAME

__all__ = [
    "CHUNKED_NOTE",
    "ChunkOut",
    "ContextState",
    "DocumentDetail",
    "DocumentIn",
    "DocumentOut",
    "DocumentPatch",
    "GraphState",
    "IngestWarning",
    "Outcome",
]

CHUNKED_NOTE = "Code-point offsets into the document's `content`; null on rows made elsewhere."

CollectionName = Annotated[
    str,
    Field(
        pattern=f"^{COLLECTION_NAME}$",
        description="Lower-case letters, digits, `_`, `-`; at most 63 characters.",
        examples=["default"],
    ),
]


class DocumentIn(BaseModel):
    """A document to ingest."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "title": "Harbour rules",
                "content": "# Mooring\n\nShips moor at the north quay.",
                "metadata": {"year": 2024},
                "external_id": "rules/harbour.md",
            }
        }
    )

    title: str = Field(min_length=1, description="Part of every chunk's index text; not blank.")
    content: str = Field(min_length=1, description="Text or Markdown; not blank.")
    metadata: dict[str, Any] = Field(
        default_factory=dict,
        description="Free JSON. Scalars join each chunk's index text; all of it can be filtered on.",
    )
    contextual_retrieval: bool = Field(
        default=False,
        description="Ask the LLM for a line that places each chunk in its document. Left out: as the collection says.",
    )
    external_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=1024,
        description="Your own id, unique in the collection: posting it again replaces the document.",
    )
    collection: CollectionName = Field(default="default")
    dedupe: bool = Field(
        default=False,
        description="Answer with the existing document if one has the same title, content and metadata.",
    )
    graph: bool = Field(
        default=True,
        description="false: the document stays out of the entity graph, as with `X-LightRAG-Ingest: false`.",
    )

    @property
    def wants_context(self) -> bool | None:
        """`contextual_retrieval` where the request says so; None leaves it to the collection."""
        said = "contextual_retrieval" in self.model_fields_set
        return self.contextual_retrieval if said else None


class DocumentPatch(BaseModel):
    """A change of metadata; title and content change by posting the same `external_id`."""

    metadata: dict[str, Any] = Field(
        description="Replaces the metadata, or is merged into it (see `merge`)."
    )
    merge: bool = Field(
        default=False,
        description="true: given keys are set, keys given as null are removed, others stay.",
    )


class GraphState(BaseModel):
    """Where the document stands on its way into the entity graph."""

    status: Literal["off", "queued", "running", "done", "failed"] = "off"
    job_id: int | None = None


class ContextState(BaseModel):
    """How many of the document's chunks have the context lines they should have."""

    status: Literal["off", "done", "queued", "running", "failed", "missing"] = Field(
        default="off",
        description="off: none are wanted. queued, running, failed: the job that makes those still "
        "missing. missing: no job does; post the document again once a language model is configured.",
    )
    done: int = Field(default=0, description="Chunks with a line.")
    total: int = Field(default=0, description="Chunks that should have one.")
    job_id: int | None = None


class IngestWarning(BaseModel):
    """Something that was asked for and did not happen."""

    code: str
    message: str


Outcome = Literal["created", "replaced", "unchanged"]


class DocumentOut(BaseModel):
    """A stored document."""

    id: int
    title: str
    content: str = Field(description="Whole text; empty with `include_content=false`.")
    metadata: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    chunk_count: int
    external_id: str | None = None
    collection: str = "default"
    outcome: Outcome | None = Field(
        default=None,
        description="What a POST did; 201 is `created`, 200 tells `replaced` from `unchanged`.",
    )
    graph: GraphState = Field(default_factory=GraphState)
    context: ContextState | None = Field(
        default=None, description="Null in lists, where it is not looked up."
    )
    warnings: list[IngestWarning] = Field(default_factory=list)


class ChunkOut(BaseModel):
    """A piece of a document, as it is searched."""

    id: int
    chunk_index: int
    content: str
    token_count: int = Field(description="White-space separated words.")
    start: int | None = Field(default=None, description=CHUNKED_NOTE)
    end: int | None = Field(default=None, description=CHUNKED_NOTE)
    context: str | None = Field(
        default=None,
        description="The line that places it in its document; null: none was made, empty: none fits.",
    )


class DocumentDetail(DocumentOut):
    """A stored document with its chunks, in order."""

    chunks: list[ChunkOut]
