"""Local models in GGUF files: where they are, how they are run, what they may take."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from ragbase.settings.base import MIB, Section, env, read_json

__all__ = ["GgufServerSpec", "GgufSettings"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class GgufServerSpec(BaseModel):
    """One entry of LOCALRAG_SERVERS: a llama.cpp server with one model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["chat", "embedding", "reranker"]
    url: Annotated[str, Field(pattern=r"^https?://[^\s/]+")]
    api_key: SecretStr = SecretStr("")


class GgufSettings(Section):
    """Local models in GGUF files: where they are, how they are run, what they may take."""

    localrag_servers: Annotated[dict[str, GgufServerSpec], NoDecode] = Field(
        default={},
        validation_alias=env("LOCALRAG_SERVERS"),
        description="JSON, name → {kind, url, api_key}: llama.cpp servers whose model is used under that name; kind is chat, embedding or reranker. LOCALRAG_SERVERS_FILE keeps keys out of the environment.",
    )
    localrag_models_memory_bytes: int = Field(
        4096 * MIB,
        ge=64 * MIB,
        validation_alias=env("LOCALRAG_MODELS_MEMORY_BYTES"),
        description="Memory that loaded GGUF models may take together; idle ones give way to those that are asked for.",
    )
    localrag_model_threads: int = Field(
        0,
        ge=0,
        le=1024,
        validation_alias=env("LOCALRAG_MODEL_THREADS"),
        description="Threads of each GGUF model; 0: the usable cores.",
    )
    localrag_model_gpu_layers: int = Field(
        -1,
        ge=-1,
        le=1000,
        validation_alias=env("LOCALRAG_MODEL_GPU_LAYERS"),
        description="Layers of a GGUF model on the GPU, where xllamacpp was built for one; -1: as many as fit.",
    )
    localrag_chat_tokens: int = Field(
        8192,
        ge=256,
        validation_alias=env("LOCALRAG_CHAT_TOKENS"),
        description="Most tokens of prompt and answer of a GGUF chat model, if it reads so many.",
    )
    localrag_text_tokens: int = Field(
        2048,
        ge=64,
        validation_alias=env("LOCALRAG_TEXT_TOKENS"),
        description="Most tokens of a text for a GGUF embedding model or reranker, if it reads so many; memory grows with it.",
    )
    localrag_model_idle_s: float = Field(
        1800.0,
        gt=0,
        validation_alias=env("LOCALRAG_MODEL_IDLE"),
        description="Seconds without use after which a GGUF model is unloaded; looked for every 15 minutes, or twice in that time.",
    )
    localrag_model_timeout_s: float = Field(
        600.0,
        gt=0,
        le=3600,
        validation_alias=env("LOCALRAG_MODEL_TIMEOUT"),
        description="Longest for one answer of a GGUF model, and for loading one, in seconds.",
    )

    @field_validator("localrag_servers", mode="before")
    @classmethod
    def _servers_of_json(cls, value: object) -> object:
        return read_json(value)

    @field_validator("localrag_servers")
    @classmethod
    def _server_names(cls, value: dict[str, GgufServerSpec]) -> dict[str, GgufServerSpec]:
        for name in value:
            if not _NAME.fullmatch(name) or name.endswith(".gguf"):
                raise ValueError(
                    f"{name!r} is no name of a model: letters, digits, '.', '_' and '-', at most "
                    "128, without .gguf"
                )
        return value
