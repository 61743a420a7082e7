"""Bounds of what is taken, and of what runs at once."""

from __future__ import annotations

from pydantic import Field

from ragbase.settings.base import MIB, Section, env

__all__ = ["LimitSettings"]


class LimitSettings(Section):
    """Bounds of what is taken, and of what runs at once."""

    max_body_bytes: int = Field(
        16 * MIB,
        ge=1024,
        validation_alias=env("RAGBASE_MAX_BODY_BYTES"),
        description="Largest JSON body.",
    )
    max_upload_bytes: int = Field(
        64 * MIB,
        ge=1024,
        validation_alias=env("RAGBASE_MAX_UPLOAD_BYTES"),
        description="Largest uploaded file.",
    )
    body_timeout: float = Field(
        60.0,
        gt=0,
        validation_alias=env("RAGBASE_BODY_TIMEOUT"),
        description="Longest a body may take to arrive, in seconds; a file: ten times this; of JSON lines: longest pause.",
    )
    parse_timeout: float = Field(
        60.0,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_PARSE_TIMEOUT"),
        description="Longest that reading one file may take, in seconds.",
    )
    parse_memory_bytes: int = Field(
        1024 * MIB,
        ge=256 * MIB,
        validation_alias=env("RAGBASE_PARSE_MEMORY_BYTES"),
        description="Most address space of the process that reads a file.",
    )
    parse_parallel: int = Field(
        2,
        ge=1,
        le=256,
        validation_alias=env("RAGBASE_PARSE_PARALLEL"),
        description="Files read at once, each by a process of its own.",
    )
    max_text_chars: int = Field(
        5_000_000,
        ge=1,
        validation_alias=env("RAGBASE_MAX_TEXT_CHARS"),
        description="Longest document, in characters.",
    )
    max_query_chars: int = Field(
        8_192,
        ge=1,
        validation_alias=env("RAGBASE_MAX_QUERY_CHARS"),
        description="Longest query, in characters.",
    )
    max_metadata_bytes: int = Field(
        64 * 1024,
        ge=2,
        validation_alias=env("RAGBASE_MAX_METADATA_BYTES"),
        description="Largest metadata object, as JSON.",
    )
    max_batch: int = Field(
        1_000,
        ge=1,
        validation_alias=env("RAGBASE_MAX_BATCH"),
        description="Most items of a batch (documents, embed inputs, ids).",
    )
    batch_parallel: int = Field(
        16,
        ge=1,
        validation_alias=env("RAGBASE_BATCH_PARALLEL"),
        description="Documents of one batch that are worked on at once.",
    )
    max_inflight: int = Field(
        64,
        ge=1,
        validation_alias=env("RAGBASE_MAX_INFLIGHT"),
        description="Requests worked on at once; more are answered 429.",
    )
    max_inflight_writes: int = Field(
        32,
        ge=1,
        validation_alias=env("RAGBASE_MAX_INFLIGHT_WRITES"),
        description="How many of them may change what is stored; the rest is kept for reads.",
    )
