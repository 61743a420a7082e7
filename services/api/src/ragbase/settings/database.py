"""Postgres, its indexes and its backups."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator

from ragbase.settings.base import Section, env

__all__ = ["DatabaseSettings"]


class DatabaseSettings(Section):
    """Postgres, its indexes and its backups."""

    database_url: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("DATABASE_URL"),
        description="postgresql://user:password@host:port/database. Required by `serve` and `migrate`.",
    )
    pool_min: int = Field(
        2,
        ge=0,
        le=1000,
        validation_alias=env("RAGBASE_POOL_MIN"),
        description="Connections kept open.",
    )
    pool_max: int = Field(
        10,
        ge=1,
        le=1000,
        validation_alias=env("RAGBASE_POOL_MAX"),
        description="Most connections of this process; half of them at most serve writers.",
    )
    schema_wait_s: float = Field(
        0.0,
        ge=0,
        le=86_400,
        validation_alias=env("RAGBASE_SCHEMA_WAIT"),
        description="How long a start waits for `ragbase migrate` to bring the schema up to date, in "
        "seconds; for servers that are started beside the migration.",
    )
    statement_timeout_s: float = Field(
        30.0,
        gt=0,
        le=86_400,
        validation_alias=env("RAGBASE_STATEMENT_TIMEOUT"),
        description="Longest a search statement may run, in seconds.",
    )
    lexical: Literal["auto", "native", "paradedb"] = Field(
        "auto",
        validation_alias=env("RAGBASE_LEXICAL"),
        description="Keyword dialect; auto: paradedb where pg_search is installed.",
    )
    hnsw_m: int = Field(
        16,
        ge=2,
        le=100,
        validation_alias=env("HNSW_M"),
        description="HNSW links per vector; takes effect when an index is built.",
    )
    hnsw_ef_construction: int = Field(
        64,
        ge=4,
        le=1000,
        validation_alias=env("HNSW_EF_CONSTRUCTION"),
        description="HNSW build width; takes effect when an index is built.",
    )
    hnsw_ef_search: int = Field(
        100,
        ge=1,
        le=1000,
        validation_alias=env("HNSW_EF_SEARCH"),
        description="Least HNSW search width; a search uses max(this, candidates).",
    )

    pg_bin: Path | None = Field(
        None,
        validation_alias=env("RAGBASE_PG_BIN"),
        description="Folder of pg_dump and pg_restore, for `backup` and `restore`; unset: those that came with RagBase, else on the PATH.",
    )
    backup_dir: Path | None = Field(
        None,
        validation_alias=env("RAGBASE_BACKUP_DIR"),
        description="Folder of the backups, where the commands are given none.",
    )

    @field_validator("pg_bin", "backup_dir", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        """An empty path would be the current folder."""
        return None if value == "" else value
