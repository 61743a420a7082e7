"""Bodies of the second API, with the names of its contract: some in camelCase, some not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from ragbase.limits import TOP_K_MAX
from ragbase.models.folder_id import FOLDER_CHARS, folder_text

__all__ = [
    "ChunkIn",
    "DeleteIn",
    "FileQuery",
    "LoadIn",
    "ModelType",
    "QueryChunk",
    "QueryIn",
    "RetrieveIn",
    "StoreIn",
    "UnloadIn",
    "Windows",
]

ModelType: TypeAlias = Literal["chat", "embedding", "reranker"]

Text = Annotated[str, Field(strict=True, min_length=1, pattern=r"\S")]
"""A text that is not blank: a blank one counts as missing."""
Words = Annotated[int, Field(strict=True)]
Switch = Annotated[bool, Field(strict=True)]
TopK = Annotated[int, Field(strict=True, ge=1, le=TOP_K_MAX)]
FolderId = Annotated[str, Field(strict=True), BeforeValidator(folder_text)]
"""A whole number counts as the text of its digits."""
Vector = list[Annotated[float, Field(allow_inf_nan=False)]]


class Body(BaseModel):
    """A request: unknown fields are ignored; ``""``, 0, null and false are the same as left out (the
    contract's §1), but for those that `meant` lists."""

    model_config = ConfigDict(populate_by_name=True, extra="ignore")

    meant: ClassVar[Mapping[str, tuple[type, ...]]] = {}
    """Fields of which a value of these types is never missing."""

    @model_validator(mode="before")
    @classmethod
    def _without_missing(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {name: each for name, each in value.items() if not cls._is_missing(name, each)}

    @classmethod
    def _is_missing(cls, name: str, value: Any) -> bool:
        return value in ("", 0, None, False) and type(value) not in cls.meant.get(name, ())


_SWITCHED_OFF: Mapping[str, tuple[type, ...]] = {
    "shouldRerank": (bool,),
    "should_rerank": (bool,),
}
"""A switch that is on by default is there to be switched off."""


class Windows(Body):
    """How a text is cut: windows of ``chunkSize`` words that share ``overlap`` words."""

    # L9: 0 words in common is a number like others, and 0 words a chunk are refused.
    meant = {"chunkSize": (int, float), "chunk_size": (int, float), "overlap": (int, float)}

    chunk_size: Words = Field(500, alias="chunkSize", ge=1, description="Words of a chunk.")
    overlap: Words = Field(
        50, ge=0, description="Words that a chunk shares with the one before; below chunkSize."
    )
    generate_contexts: Switch = Field(
        False,
        alias="generateContexts",
        description="Have a chat model write for each chunk where it stands in the document.",
    )
    use_openai: Switch = Field(
        False,
        alias="useOpenAI",
        description="Have the configured OpenAI model write contexts; 400 where there is none.",
    )

    @model_validator(mode="after")
    def _advancing(self) -> Windows:
        if self.overlap >= self.chunk_size:
            raise PydanticCustomError(
                "window",
                "overlap must be below chunkSize ({size})",
                {"size": self.chunk_size, "param": "overlap"},
            )
        return self


class ChunkIn(Windows):
    """What `POST /v1/chunk` takes."""

    text: Text
    model: Text = Field(description="An embedding model of `GET /v1/models`.")


class StoreIn(Windows):
    """What `POST /v1/store` takes."""

    document: Text
    folder_id: Annotated[FolderId, Field(max_length=FOLDER_CHARS)] | None = None
    include_document: Switch = Field(
        False,
        alias="includeDocument",
        description="Repeat the whole text in each chunk's metadata, as the original did.",
    )


class QueryChunk(Body):
    """A chunk as `POST /v1/chunk` answers it."""

    meant = {"metadata": (str, int, float, bool)}  # answered as it was sent

    content: Annotated[str, Field(strict=True)] = ""
    context: Annotated[str, Field(strict=True)] = ""
    content_embedding: Vector | None = None
    context_embedding: Vector | None = None
    metadata: Any = None


class QueryIn(Body):
    """What `POST /v1/query` takes."""

    meant = _SWITCHED_OFF

    query: Text
    chunks: list[QueryChunk]
    embedding_model: Text = Field(
        alias="embeddingModel", description="The model that made the chunks' vectors."
    )
    reranker_model: Annotated[str, Field(strict=True)] | None = Field(
        None, alias="rerankerModel", description="A reranker of `GET /v1/models`."
    )
    top_k: TopK = Field(4, alias="topK")
    should_rerank: Switch = Field(
        True, alias="shouldRerank", description="Has effect only together with rerankerModel."
    )


class RetrieveIn(Body):
    """What `POST /v1/retrieve` takes."""

    meant = _SWITCHED_OFF

    query: Text
    folder_id: FolderId | None = Field(
        None, description="Only files of this folder; empty: of all."
    )
    top_k: TopK = 3
    threshold: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = Field(
        0.0, description="Least combined score, inclusive; it does not look at `reranked`."
    )
    should_rerank: Switch = Field(True, alias="shouldRerank")
    reranker_model: Annotated[str, Field(strict=True)] | None = Field(
        None, alias="rerankerModel", description="Else LOCALRAG_RERANKER_MODEL."
    )


class DeleteIn(Body):
    """What `POST /v1/delete` takes."""

    file_id: Text


class LoadIn(Body):
    """What `POST /v1/models/load` takes."""

    model: Text
    type: ModelType


class UnloadIn(Body):
    """What `POST /v1/models/unload` takes."""

    model: Text


class FileQuery(Body):
    """The query string of `GET /v1/documents`; page and pageSize are forced into their bounds."""

    page: int = Field(1, description="Below 1: 1.")
    page_size: int = Field(10, alias="pageSize", description="Forced into 1…100.")
    folder_id: str | None = None
    file_id: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, value: Any) -> Any:
        """An empty parameter counts as missing."""
        if not isinstance(value, dict):
            return value
        return {name: each for name, each in value.items() if each != ""}
