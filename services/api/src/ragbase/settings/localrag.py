"""The second API: where it listens, which models it uses, what it may cost."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, SecretStr, field_validator

from ragbase.settings.base import Section, env
from ragbase.settings.server import Port

__all__ = ["CHAT_GGUF", "EMBEDDING_GGUF", "RERANKER_GGUF", "LocalragSettings"]

EMBEDDING_GGUF = "all-MiniLM-L6-v2.Q4_K_M"
CHAT_GGUF = "Llama-3.2-1B-Instruct-Q4_K_M"
RERANKER_GGUF = "bge-reranker-v2-m3-q8_0"
"""The three files that the original fetches; the only place that names them."""


class LocalragSettings(Section):
    """The second API: where it listens, which models it uses, what it may cost."""

    localrag_enabled: bool = Field(
        True,
        validation_alias=env("LOCALRAG_ENABLED"),
        description="Second API: whether `ragbase up` serves it beside the first.",
    )
    localrag_port: Port = Field(
        57352,
        validation_alias=env("LOCALRAG_PORT"),
        description="Second API: port; 0 takes a free one. `ragbase localrag` also reads PORT.",
    )
    localrag_models_dir: Path | None = Field(
        None,
        validation_alias=env("LOCALRAG_MODELS_DIR"),
        description="Folder with the folders chat, embedding and reranker of GGUF files; unset: models in RAGBASE_HOME.",
    )
    localrag_embedding_model: str = Field(
        EMBEDDING_GGUF,
        validation_alias=env("LOCALRAG_EMBEDDING_MODEL"),
        description="Second API: model of stored files, a GGUF file or the name of the served model. Where the default is absent the served one is used, with a warning. `ragbase localrag` also reads EMBEDDING_MODEL.",
    )
    localrag_reranker_model: str = Field(
        RERANKER_GGUF,
        validation_alias=env("LOCALRAG_RERANKER_MODEL"),
        description="Second API: reranker of /v1/retrieve, as above. `ragbase localrag` also reads RERANKER_MODEL.",
    )
    localrag_chat_model: str = Field(
        CHAT_GGUF,
        validation_alias=env("LOCALRAG_CHAT_MODEL"),
        description="Second API: model that writes contexts, as above. `ragbase localrag` also reads CHAT_MODEL.",
    )
    localrag_openai_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("LOCALRAG_OPENAI_API_KEY"),
        description="Second API: key for `useOpenAI`; unset: the language model of context lines (LLM_BASE_URL) is used, else the request is refused. `ragbase localrag` also reads OPENAI_API_KEY.",
    )
    localrag_openai_model_name: str = Field(
        "gpt-4o-mini",
        validation_alias=env("LOCALRAG_OPENAI_MODEL_NAME"),
        description="Second API: model for `useOpenAI`. `ragbase localrag` also reads OPENAI_MODEL_NAME.",
    )
    localrag_openai_base_url: str = Field(
        "https://api.openai.com/v1",
        validation_alias=env("LOCALRAG_OPENAI_BASE_URL"),
        description="Second API: server for `useOpenAI`.",
    )
    localrag_content_weight: float = Field(
        0.6,
        ge=0,
        le=1,
        validation_alias=env("LOCALRAG_CONTENT_WEIGHT"),
        description="Second API: weight of the content's similarity; the context's has the rest.",
    )
    localrag_candidates: int = Field(
        200,
        ge=1,
        le=1000,
        validation_alias=env("LOCALRAG_CANDIDATES"),
        description="Second API: chunks that each vector index gives to a search (more where top_k asks for more); scores on them are exact.",
    )
    localrag_context_parallel: int = Field(
        4,
        ge=1,
        le=256,
        validation_alias=env("LOCALRAG_CONTEXT_PARALLEL"),
        description="Second API: contexts written at once by this process.",
    )
    localrag_context_timeout_s: float = Field(
        120.0,
        gt=0,
        le=3600,
        validation_alias=env("LOCALRAG_CONTEXT_TIMEOUT"),
        description="Second API: longest for one context, in seconds.",
    )
    localrag_context_document_tokens: int = Field(
        3_000,
        ge=256,
        validation_alias=env("LOCALRAG_CONTEXT_DOCUMENT_TOKENS"),
        description="Second API: most of the document that a prompt for a context holds, in tokens (estimated); of a longer one its beginning and a window around the chunk.",
    )
    localrag_max_chunks: int = Field(
        10_000,
        ge=1,
        validation_alias=env("LOCALRAG_MAX_CHUNKS"),
        description="Second API: most chunks of one request.",
    )

    @field_validator("localrag_models_dir", mode="before")
    @classmethod
    def _empty_models_dir_is_unset(cls, value: object) -> object:
        """An empty path would be the current folder."""
        return None if value == "" else value
