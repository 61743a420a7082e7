"""The API's settings: one class, every value from the environment (or ``<NAME>_FILE``).

Names of the original are kept; new ones carry ``RAGBASE_``. ``ragbase settings`` prints this
list. An empty service URL means "not configured", never a default host.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from ragbase.limits import ARM_DEPTH_DEFAULT, ARM_DEPTH_MAX
from ragbase.loopback import is_loopback

__all__ = ["Settings"]

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
MIB = 1024 * 1024

Port = Annotated[int, Field(ge=0, le=65535)]


def _env(*names: str) -> AliasChoices:
    return AliasChoices(*names)


class _EnvSource(EnvSettingsSource):
    """Reads a setting under its own names only.

    pydantic-settings would read the field's name too, so that every shell's ``HOME``, and many a
    platform's ``HOST`` and ``PORT``, would become ours.
    """

    def _extract_field_info(
        self, field: Any, field_name: str, *args: Any, **kwargs: Any
    ) -> list[tuple[str, str, bool]]:
        found = super()._extract_field_info(field, field_name, *args, **kwargs)
        return [info for info in found if info[0] != field_name]


class _FileSource(_EnvSource):
    """Reads ``<NAME>_FILE`` where ``<NAME>`` is unset: how Kubernetes and Docker mount secrets."""

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        for key, name, _ in self._extract_field_info(field, field_name):
            path = self.env_vars.get(f"{name.lower()}_file")
            if path:
                try:
                    return Path(path).read_text(encoding="utf-8").strip(), key, False
                except OSError as error:
                    raise ValueError(f"{name}_FILE: cannot read {path}: {error.strerror}") from None
        return None, field_name, False


class Settings(BaseSettings):
    """All settings of API, worker and CLI."""

    model_config = SettingsConfigDict(
        env_prefix="", extra="ignore", populate_by_name=True, frozen=True
    )

    # Server
    host: str = Field(
        "127.0.0.1", validation_alias=_env("RAGBASE_HOST"), description="Address to listen on."
    )
    port: Port = Field(
        8000,
        validation_alias=_env("RAGBASE_PORT"),
        description="Port to listen on; 0 takes a free one.",
    )
    metrics_port: Port | None = Field(
        None,
        validation_alias=_env("RAGBASE_METRICS_PORT"),
        description="Port of /metrics; unset: on the main port.",
    )
    auth: Literal["on", "off"] | None = Field(
        None,
        validation_alias=_env("RAGBASE_AUTH"),
        description="Whether callers need an API key; unset: off on loopback, on beyond it.",
    )
    allow_insecure: bool = Field(
        False,
        validation_alias=_env("RAGBASE_ALLOW_INSECURE"),
        description="Let RAGBASE_AUTH=off listen beyond loopback.",
    )
    admin_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("RAGBASE_ADMIN_KEY"),
        description="An API key that may do all; `ragbase keys generate` makes one.",
    )
    probe_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("RAGBASE_PROBE_KEY"),
        description="An API key that may read, for probes and scrapes.",
    )
    client_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("RAGBASE_CLIENT_KEY"),
        description="An API key that may read and write documents.",
    )
    shutdown_drain_s: float = Field(
        0.0,
        ge=0,
        le=3600,
        validation_alias=_env("RAGBASE_SHUTDOWN_DRAIN"),
        description="After the first signal, seconds to be not ready and still answer, until load balancers have noticed.",
    )
    shutdown_grace_s: float = Field(
        25.0,
        ge=0,
        le=86_400,
        validation_alias=_env("RAGBASE_SHUTDOWN_GRACE"),
        description="Seconds that requests and jobs under way get to finish after that.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        validation_alias=_env("RAGBASE_LOG_LEVEL", "API_LOG_LEVEL"),
        description="Least severe log line that is written.",
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto",
        validation_alias=_env("RAGBASE_LOG_FORMAT"),
        description="auto: console on a terminal, else JSON lines.",
    )
    home: Path = Field(
        Path(".ragbase"),
        validation_alias=_env("RAGBASE_HOME"),
        description="State folder of `ragbase up`.",
    )

    # Postgres
    database_url: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("DATABASE_URL"),
        description="postgresql://user:password@host:port/database. Required by `serve` and `migrate`.",
    )
    pool_min: int = Field(
        2,
        ge=0,
        le=1000,
        validation_alias=_env("RAGBASE_POOL_MIN"),
        description="Connections kept open.",
    )
    pool_max: int = Field(
        10,
        ge=1,
        le=1000,
        validation_alias=_env("RAGBASE_POOL_MAX"),
        description="Most connections of this process; half of them at most serve writers.",
    )
    statement_timeout_s: float = Field(
        30.0,
        gt=0,
        le=86_400,
        validation_alias=_env("RAGBASE_STATEMENT_TIMEOUT"),
        description="Longest a search statement may run, in seconds.",
    )
    lexical: Literal["auto", "native", "paradedb"] = Field(
        "auto",
        validation_alias=_env("RAGBASE_LEXICAL"),
        description="Keyword dialect; auto: paradedb where pg_search is installed.",
    )
    hnsw_m: int = Field(
        16,
        ge=2,
        le=100,
        validation_alias=_env("HNSW_M"),
        description="HNSW links per vector; takes effect when an index is built.",
    )
    hnsw_ef_construction: int = Field(
        64,
        ge=4,
        le=1000,
        validation_alias=_env("HNSW_EF_CONSTRUCTION"),
        description="HNSW build width; takes effect when an index is built.",
    )
    hnsw_ef_search: int = Field(
        100,
        ge=1,
        le=1000,
        validation_alias=_env("HNSW_EF_SEARCH"),
        description="Least HNSW search width; a search uses max(this, candidates).",
    )

    pg_bin: Path | None = Field(
        None,
        validation_alias=_env("RAGBASE_PG_BIN"),
        description="Folder of pg_dump and pg_restore, for `backup` and `restore`; unset: those that came with RagBase, else on the PATH.",
    )
    backup_dir: Path | None = Field(
        None,
        validation_alias=_env("RAGBASE_BACKUP_DIR"),
        description="Folder of the backups, where the commands are given none.",
    )

    # Embeddings
    embedding_engine: Literal["onnx", "tei", "openai"] | None = Field(
        None,
        validation_alias=_env("RAGBASE_EMBEDDING_ENGINE"),
        description="onnx: in this process; tei, openai: a server at EMBEDDING_URL. Unset: tei if EMBEDDING_URL is set, else onnx.",
    )
    embedding_url: str = Field(
        "", validation_alias=_env("EMBEDDING_URL"), description="Base URL of the embedding server."
    )
    embedding_model: str = Field(
        "",
        validation_alias=_env("EMBEDDING_MODEL"),
        description=f"Model id or local folder; onnx: default {MINILM}; for a server: checked against what it serves.",
    )
    embedding_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=_env("EMBEDDING_API_KEY"),
        description="Bearer token of the embedding server.",
    )
    embedding_timeout_s: float = Field(
        30.0,
        gt=0,
        validation_alias=_env("RAGBASE_EMBEDDING_TIMEOUT"),
        description="Time-out of one call, in seconds.",
    )
    embedding_threads: int = Field(
        0,
        ge=0,
        le=1024,
        validation_alias=_env("RAGBASE_EMBEDDING_THREADS"),
        description="onnx: threads of the runtime; 0: all cores.",
    )
    embedding_query_prefix: str | None = Field(
        None,
        validation_alias=_env("RAGBASE_EMBEDDING_QUERY_PREFIX"),
        description="Text put before a query; unset: what the model's own files say.",
    )
    embedding_passage_prefix: str | None = Field(
        None,
        validation_alias=_env("RAGBASE_EMBEDDING_PASSAGE_PREFIX"),
        description="Text put before a passage; unset: what the model's own files say.",
    )

    # Chunking
    chunk_size: int = Field(
        512,
        ge=1,
        le=100_000,
        validation_alias=_env("CHUNK_SIZE"),
        description="Most words of a chunk; the embedder's token limit caps it.",
    )
    chunk_overlap: int = Field(
        50,
        ge=0,
        validation_alias=_env("CHUNK_OVERLAP"),
        description="Words that neighbouring chunks may share; below CHUNK_SIZE.",
    )

    # Jobs
    workers: int = Field(
        1,
        ge=0,
        le=256,
        validation_alias=_env("RAGBASE_WORKERS"),
        description="Jobs that `up` and `serve` do at once, inside the API; 0 leaves them to `ragbase worker`.",
    )
    worker_jobs: int = Field(
        2,
        ge=1,
        le=256,
        validation_alias=_env("RAGBASE_WORKER_JOBS"),
        description="Jobs that `ragbase worker` does at once.",
    )
    worker_grace_s: float = Field(
        10.0,
        ge=0,
        validation_alias=_env("RAGBASE_WORKER_GRACE"),
        description="Time that jobs under way get at the end, in seconds; then others take them.",
    )
    job_lease_s: float = Field(
        30.0,
        ge=5,
        validation_alias=_env("RAGBASE_JOB_LEASE"),
        description="Silence after which a worker counts as dead and its jobs go to others, in seconds.",
    )
    job_attempts: int = Field(
        10,
        ge=1,
        le=1000,
        validation_alias=_env("RAGBASE_JOB_ATTEMPTS"),
        description="Attempts before a job has failed for good; about half an hour of outage.",
    )
    job_retention_days: float = Field(
        7.0,
        gt=0,
        le=36_500,
        validation_alias=_env("RAGBASE_JOB_RETENTION_DAYS"),
        description="How long ended jobs are kept; failed ones can be retried so long.",
    )
    max_queued: int = Field(
        100_000,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_QUEUED"),
        description="Most jobs that wait; more are answered 429.",
    )
    max_queued_per_collection: int = Field(
        10_000,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_QUEUED_PER_COLLECTION"),
        description="Most jobs of one collection that wait; more are answered 429.",
    )

    # Search defaults
    default_search_top_k: int = Field(
        20,
        ge=1,
        le=100,
        validation_alias=_env("DEFAULT_SEARCH_TOP_K"),
        description="top_k where a request gives none.",
    )
    default_rerank_candidates: int = Field(
        50,
        ge=1,
        le=200,
        validation_alias=_env("DEFAULT_RERANK_CANDIDATES"),
        description="rerank_candidates where a request gives none.",
    )
    default_min_score: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        validation_alias=_env("DEFAULT_MIN_SCORE"),
        description="min_score where a request gives none.",
    )
    default_candidates: int = Field(
        ARM_DEPTH_DEFAULT,
        ge=1,
        le=ARM_DEPTH_MAX,
        validation_alias=_env("RAGBASE_DEFAULT_CANDIDATES"),
        description="Rows each arm gives to fusion where a request says nothing.",
    )
    search_timeout_s: float = Field(
        30.0,
        gt=0,
        validation_alias=_env("RAGBASE_SEARCH_TIMEOUT"),
        description="Time budget of one arm, in seconds.",
    )

    # Limits
    max_body_bytes: int = Field(
        16 * MIB,
        ge=1024,
        validation_alias=_env("RAGBASE_MAX_BODY_BYTES"),
        description="Largest JSON body.",
    )
    max_upload_bytes: int = Field(
        64 * MIB,
        ge=1024,
        validation_alias=_env("RAGBASE_MAX_UPLOAD_BYTES"),
        description="Largest uploaded file.",
    )
    body_timeout: float = Field(
        60.0,
        gt=0,
        validation_alias=_env("RAGBASE_BODY_TIMEOUT"),
        description="Longest a body may take to arrive, in seconds; a file: ten times this; of JSON lines: longest pause.",
    )
    parse_timeout: float = Field(
        60.0,
        gt=0,
        le=3600,
        validation_alias=_env("RAGBASE_PARSE_TIMEOUT"),
        description="Longest that reading one file may take, in seconds.",
    )
    parse_memory_bytes: int = Field(
        1024 * MIB,
        ge=256 * MIB,
        validation_alias=_env("RAGBASE_PARSE_MEMORY_BYTES"),
        description="Most address space of the process that reads a file.",
    )
    parse_parallel: int = Field(
        2,
        ge=1,
        le=256,
        validation_alias=_env("RAGBASE_PARSE_PARALLEL"),
        description="Files read at once, each by a process of its own.",
    )
    max_text_chars: int = Field(
        5_000_000,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_TEXT_CHARS"),
        description="Longest document, in characters.",
    )
    max_query_chars: int = Field(
        8_192,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_QUERY_CHARS"),
        description="Longest query, in characters.",
    )
    max_metadata_bytes: int = Field(
        64 * 1024,
        ge=2,
        validation_alias=_env("RAGBASE_MAX_METADATA_BYTES"),
        description="Largest metadata object, as JSON.",
    )
    max_batch: int = Field(
        1_000,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_BATCH"),
        description="Most items of a batch (documents, embed inputs, ids).",
    )
    batch_parallel: int = Field(
        16,
        ge=1,
        validation_alias=_env("RAGBASE_BATCH_PARALLEL"),
        description="Documents of one batch that are worked on at once.",
    )
    max_inflight: int = Field(
        64,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_INFLIGHT"),
        description="Requests worked on at once; more are answered 429.",
    )
    max_inflight_writes: int = Field(
        32,
        ge=1,
        validation_alias=_env("RAGBASE_MAX_INFLIGHT_WRITES"),
        description="How many of them may change what is stored; the rest is kept for reads.",
    )

    @model_validator(mode="after")
    def _overlap_below_size(self) -> Self:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(
                f"CHUNK_OVERLAP ({self.chunk_overlap}) must be below CHUNK_SIZE ({self.chunk_size})"
            )
        return self

    @field_validator("auth", mode="before")
    @classmethod
    def _yaml_switch(cls, value: object) -> object:
        """YAML reads an unquoted ``on`` as true, and hands that down as text."""
        words = {"true": "on", "false": "off", "": None}
        return words.get(value.lower(), value.lower()) if isinstance(value, str) else value

    @field_validator("pg_bin", "backup_dir", mode="before")
    @classmethod
    def _empty_is_unset(cls, value: object) -> object:
        """An empty path would be the current folder."""
        return None if value == "" else value

    @property
    def auth_on(self) -> bool:
        """Whether callers need an API key."""
        if self.auth is None:
            return not is_loopback(self.host)
        return self.auth == "on"

    @property
    def ef_search(self) -> int:
        """HNSW search width of a connection: wide enough for searches that set no depth."""
        return max(self.hnsw_ef_search, self.default_candidates)

    @property
    def engine(self) -> Literal["onnx", "tei", "openai"]:
        """The embedding engine in force."""
        return self.embedding_engine or ("tei" if self.embedding_url else "onnx")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments win over the environment, which wins over ``<NAME>_FILE``."""
        return init_settings, _EnvSource(settings_cls), _FileSource(settings_cls)
