"""The server's settings: one class, each value from a flag, the environment, or ``<NAME>_FILE``.

What text-embeddings-inference has too keeps its names; ours carry ``RAGBASE_INFERENCE_``. The
flags of ``ragbase-inference serve`` and the table in ``docs/inference.md`` are made out of this.
"""

from __future__ import annotations

import json
from typing import Annotated, Literal, Self

from pydantic import AliasChoices, Field, SecretStr, field_validator, model_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from ragbase_inference.backends.open import BackendChoice
from ragbase_inference.backends.options import Dtype
from ragbase_inference.config import Pooling
from ragbase_inference.cores import usable_cores
from ragbase_inference.resolve import MINILM
from ragbase_inference.server.sources import EnvSource, FileSource, is_address
from ragbase_inference.serving.spec import ModelSpec, ServingOptions, parse_spec

__all__ = ["ServerSettings"]

OURS = "RAGBASE_INFERENCE_"
_POOLING: dict[str, Pooling] = {"last-token": "lasttoken"}
"""Names of text-embeddings-inference that differ from Sentence Transformers'."""


def _tei(name: str) -> AliasChoices:
    return AliasChoices(name)


def _ours(name: str) -> AliasChoices:
    return AliasChoices(OURS + name)


class ServerSettings(BaseSettings):
    """All settings of ``ragbase-inference serve``, in groups of its help."""

    model_config = SettingsConfigDict(
        env_prefix="",
        env_ignore_empty=True,
        extra="ignore",
        populate_by_name=True,
        frozen=True,
        protected_namespaces=(),
    )

    # Models
    model_id: str | None = Field(
        None,
        validation_alias=_tei("MODEL_ID"),
        description="Hugging Face id, or a folder, of the first model.",
        json_schema_extra={"default_text": f"{MINILM}, unless --model is given"},
    )
    revision: str | None = Field(
        None, validation_alias=_tei("REVISION"), description="Revision of --model-id on the hub."
    )
    served_model_name: str | None = Field(
        None,
        validation_alias=_tei("SERVED_MODEL_NAME"),
        description="What answers call the model of --model-id; its id where unset.",
    )
    model: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        validation_alias=_ours("MODELS"),
        description="name=id or name=id@revision of a further model, at /models/<name>; may be repeated. In the environment: separated by spaces.",
    )
    backend: BackendChoice = Field(
        "auto",
        validation_alias=_ours("BACKEND"),
        description="What runs the models; auto: torch on a GPU, else ONNX Runtime where it can.",
    )
    device: str | None = Field(
        None,
        validation_alias=_ours("DEVICE"),
        description="cpu, cuda, cuda:1, as torch names them (ROCm's are cuda too); unset: a GPU if there is one.",
    )
    dtype: Dtype | None = Field(
        None,
        validation_alias=_tei("DTYPE"),
        description="Numbers that models are computed in; unset: what suits model and device.",
    )
    pooling: Pooling | None = Field(
        None,
        validation_alias=_tei("POOLING"),
        description="How token vectors become one (cls, mean, last-token, …); unset: as the model's files say.",
    )
    default_prompt_name: str | None = Field(
        None,
        validation_alias=_tei("DEFAULT_PROMPT_NAME"),
        description="Prompt of the model's files that is put before inputs to embed.",
    )
    default_prompt: str | None = Field(
        None,
        validation_alias=_tei("DEFAULT_PROMPT"),
        description="Text that is put before inputs to embed.",
    )
    instruction: str | None = Field(
        None,
        validation_alias=_ours("INSTRUCTION"),
        description="What a Qwen3-Reranker is told to look for; unset: its publisher's sentence.",
    )
    lazy: bool = Field(
        False,
        validation_alias=_ours("LAZY"),
        description="Load a model by its first request (--eager: before the port opens).",
    )
    idle_unload: float | None = Field(
        None,
        gt=0,
        validation_alias=_ours("IDLE_UNLOAD"),
        description="Seconds without a request after which a model is unloaded; the next one loads it again. Unset: never.",
    )

    # Server
    hostname: str = Field(
        "0.0.0.0",  # noqa: S104 - as text-embeddings-inference; containers must be reached
        validation_alias=_tei("HOSTNAME"),
        description="Address to listen on. The environment's counts only if it is an address: containers have their name there.",
    )
    port: int = Field(
        8080,
        ge=0,
        le=65_535,
        validation_alias=_tei("PORT"),
        description="Port to listen on; 0 takes a free one. (TEI's own default is 3000.)",
    )
    api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=_tei("API_KEY"),
        description="Callers must send it as Authorization: Bearer …; empty: anybody may call.",
    )
    payload_limit: int = Field(
        2_000_000,
        ge=1,
        validation_alias=_tei("PAYLOAD_LIMIT"),
        description="Most bytes of a request body; more are answered 413.",
    )
    body_timeout: float = Field(
        60.0,
        gt=0,
        validation_alias=_ours("BODY_TIMEOUT"),
        description="Seconds in which a request body must have arrived.",
    )
    shutdown_grace: float = Field(
        25.0,
        ge=0,
        validation_alias=_ours("SHUTDOWN_GRACE"),
        description="Seconds that requests under way get to finish after SIGTERM.",
    )

    # Batching
    max_client_batch_size: int = Field(
        32,
        ge=1,
        validation_alias=_tei("MAX_CLIENT_BATCH_SIZE"),
        description="Most inputs of a request; more are answered 422.",
    )
    max_concurrent_requests: int = Field(
        512,
        ge=1,
        validation_alias=_tei("MAX_CONCURRENT_REQUESTS"),
        description="Most inputs of a model in work or waiting, over all requests; more are answered 429 at once.",
    )
    max_batch_tokens: int = Field(
        16_384,
        ge=1,
        validation_alias=_tei("MAX_BATCH_TOKENS"),
        description="Most tokens of a batch with padding; no more than pays on the device are taken.",
    )
    max_batch_requests: int | None = Field(
        None,
        ge=1,
        validation_alias=_tei("MAX_BATCH_REQUESTS"),
        description="Most inputs of a batch; unset: as many as fit.",
    )
    auto_truncate: bool = Field(
        True,
        validation_alias=_tei("AUTO_TRUNCATE"),
        description="Cut inputs to the model's limit where a request does not say; false answers 422.",
    )
    batching: bool = Field(
        True,
        validation_alias=_ours("BATCHING"),
        description="Let inputs of all requests share batches (--no-batching: each runs alone).",
    )
    threads: int = Field(
        0,
        ge=0,
        le=1024,
        validation_alias=_ours("THREADS"),
        description="Threads of a model on a CPU; 0: all usable cores.",
    )
    tokenization_workers: int | None = Field(
        None,
        ge=1,
        le=1024,
        validation_alias=_tei("TOKENIZATION_WORKERS"),
        description="Threads that tokenise long inputs; unset: one a core.",
    )

    # Logs
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info",
        validation_alias=_ours("LOG_LEVEL"),
        description="Least severe line that is written.",
    )
    log_format: Literal["auto", "json", "console"] = Field(
        "auto",
        validation_alias=_ours("LOG_FORMAT"),
        description="auto: console on a terminal, else JSON lines.",
    )

    @field_validator("model", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        """The environment's form of a repeated flag; JSON lists are understood, too."""
        if not isinstance(value, str):
            return value
        return json.loads(value) if value.lstrip().startswith("[") else value.split()

    @field_validator("pooling", mode="before")
    @classmethod
    def _own_pooling_name(cls, value: object) -> object:
        return _POOLING.get(value, value) if isinstance(value, str) else value

    @field_validator("hostname")
    @classmethod
    def _address(cls, value: str) -> str:
        if not is_address(value):
            raise ValueError(f"{value!r} is no address to listen on")
        return "127.0.0.1" if value == "localhost" else value

    @model_validator(mode="after")
    def _models_are_named_apart(self) -> Self:
        names = [spec.name for spec in self.specs]
        if len(set(names)) < len(names):
            raise ValueError(f"two models have one name: {', '.join(names)}")
        return self

    @property
    def specs(self) -> list[ModelSpec]:
        """All models, the default one first; raises `ValueError` for a name that cannot be one."""
        further = [parse_spec(text) for text in self.model]
        if self.model_id is None and further:
            return further
        first = ModelSpec(
            "default", self.model_id or MINILM, self.revision, self.served_model_name or ""
        )
        return [first, *further]

    @property
    def serving(self) -> ServingOptions:
        """The bounds of each model."""
        return ServingOptions(
            max_client_batch_size=self.max_client_batch_size,
            max_concurrent_requests=self.max_concurrent_requests,
            max_batch_tokens=self.max_batch_tokens,
            max_batch_requests=self.max_batch_requests,
            auto_truncate=self.auto_truncate,
            default_prompt=self.default_prompt,
            default_prompt_name=self.default_prompt_name,
            batching=self.batching,
            lazy=self.lazy,
            idle_unload_s=self.idle_unload,
            tokenization_workers=self.tokenization_workers or usable_cores(),
        )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags win over the environment, which wins over ``<NAME>_FILE``."""
        del env_settings, dotenv_settings, file_secret_settings  # pydantic-settings' own
        return init_settings, EnvSource(settings_cls), FileSource(settings_cls)
