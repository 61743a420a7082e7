"""The embedding model, in this process or behind HTTP."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from ragbase.settings.base import Section, env

__all__ = ["MINILM", "EmbeddingSettings"]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"


class EmbeddingSettings(Section):
    """The embedding model, in this process or behind HTTP."""

    embedding_engine: Literal["onnx", "tei", "openai"] | None = Field(
        None,
        validation_alias=env("RAGBASE_EMBEDDING_ENGINE"),
        description="onnx: in this process; tei, openai: a server at EMBEDDING_URL. Unset: tei if EMBEDDING_URL is set, else onnx.",
    )
    embedding_url: str = Field(
        "", validation_alias=env("EMBEDDING_URL"), description="Base URL of the embedding server."
    )
    embedding_model: str = Field(
        "",
        validation_alias=env("EMBEDDING_MODEL"),
        description=f"Model id or local folder; onnx: default {MINILM}; for a server: checked against what it serves.",
    )
    embedding_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("EMBEDDING_API_KEY"),
        description="Bearer token of the embedding server.",
    )
    embedding_timeout_s: float = Field(
        30.0,
        gt=0,
        validation_alias=env("RAGBASE_EMBEDDING_TIMEOUT"),
        description="Time-out of one call, in seconds.",
    )
    embedding_threads: int = Field(
        0,
        ge=0,
        le=1024,
        validation_alias=env("RAGBASE_EMBEDDING_THREADS"),
        description="onnx: threads of the runtime; 0: all cores.",
    )
    embedding_query_prefix: str | None = Field(
        None,
        validation_alias=env("RAGBASE_EMBEDDING_QUERY_PREFIX"),
        description="Text put before a query; unset: what the model's own files say.",
    )
    embedding_passage_prefix: str | None = Field(
        None,
        validation_alias=env("RAGBASE_EMBEDDING_PASSAGE_PREFIX"),
        description="Text put before a passage; unset: what the model's own files say.",
    )

    @property
    def engine(self) -> Literal["onnx", "tei", "openai"]:
        """The embedding engine in force."""
        return self.embedding_engine or ("tei" if self.embedding_url else "onnx")
