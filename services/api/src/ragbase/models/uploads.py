"""Fields that go with an uploaded file."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ragbase.models.documents import CollectionName

__all__ = ["UploadFields"]


class UploadFields(BaseModel):
    """What a form says beside the file; given values win over what the file says of itself."""

    model_config = ConfigDict(extra="forbid")

    title: str | None = Field(
        default=None, min_length=1, description="Left out: the file's own title, else its name."
    )
    metadata: dict[str, Any] = Field(
        default_factory=dict,
        description="A JSON object; its keys win over those that the file brings.",
    )
    external_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=1024,
        description="Your own id, unique in the collection: uploading again replaces the document.",
    )
    collection: CollectionName = Field(default="default")
    dedupe: bool = Field(
        default=False,
        description="Answer with the existing document if one has the same title, content and metadata.",
    )
    graph: bool = Field(
        default=True, description="false: the document stays out of the entity graph."
    )
    contextual_retrieval: bool = Field(
        default=False,
        description="Ask the LLM for a line that places each chunk in its document. Left out: as the collection says.",
    )

    @field_validator("metadata", mode="before")
    @classmethod
    def _from_json(cls, value: object) -> object:
        """A form carries text only."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError) as error:
            raise ValueError("send a JSON object") from error
