"""Rerankers: which there are, and what they read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from ragbase.settings.base import Section, env, read_json

__all__ = ["CONTRACT_RERANKERS", "MS_MARCO", "RerankerSpec", "RerankingSettings"]

MS_MARCO = "cross-encoder/ms-marco-MiniLM-L6-v2"
"""22 million parameters, Apache-2.0; what the embedded default reranks with, where it is at hand."""

CONTRACT_RERANKERS: Final[Mapping[str, float]] = {
    "default": 60.0,
    "bge-gpu": 60.0,
    "qwen-4b": 120.0,
    "qwen-8b": 180.0,
}
"""Names that a request may use whether configured or not, with their time budgets in seconds."""

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


class RerankerSpec(BaseModel):
    """One entry of RAGBASE_RERANKERS: a server's ``url``, or a ``model`` to run in this process."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str = ""
    model: str = ""
    """With ``url``: the model it must serve; "" takes any."""
    timeout_s: Annotated[float, Field(gt=0, le=3600)] | None = None
    fallback: str | None = None
    api_key: SecretStr = SecretStr("")
    batch: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Most texts a request; None: what the server says, else 32."""

    @model_validator(mode="after")
    def _is_somewhere(self) -> Self:
        if not self.url and not self.model:
            raise ValueError("give url (a server) or model (to run in this process)")
        return self


class RerankingSettings(Section):
    """Rerankers: which there are, and what they read."""

    rerankers: Annotated[dict[str, RerankerSpec], NoDecode] = Field(
        default={},
        validation_alias=env("RAGBASE_RERANKERS"),
        description="JSON, name → {url, model, timeout_s, fallback, api_key, batch}: servers that speak TEI's protocol or, without url, models run in this process. RAGBASE_RERANKERS_FILE keeps keys out of the environment.",
    )
    reranker_url: str = Field(
        "",
        validation_alias=env("RERANKER_URL"),
        description="Base URL of the reranker `default`.",
    )
    bge_gpu_reranker_url: str = Field(
        "",
        validation_alias=env("BGE_GPU_RERANKER_URL"),
        description="Base URL of the reranker `bge-gpu`.",
    )
    qwen_reranker_url: str = Field(
        "",
        validation_alias=env("QWEN_RERANKER_URL"),
        description="Base URL of the reranker `qwen-4b`.",
    )
    qwen_8b_reranker_url: str = Field(
        "",
        validation_alias=env("QWEN_8B_RERANKER_URL"),
        description="Base URL of the reranker `qwen-8b`.",
    )
    reranker_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("RERANKER_API_KEY"),
        description="Bearer token of the servers at the four URLs.",
    )
    rerank_enabled: bool = Field(
        True, validation_alias=env("RERANK_ENABLED"), description="false: no reranker at all."
    )
    rerank_model: str = Field(
        "",
        validation_alias=env("RAGBASE_RERANK_MODEL"),
        description=f"Model id or local folder of a reranker `default` in this process, where RERANKER_URL is unset. Unset, and embeddings made in this process too: {MS_MARCO} if it is in the model cache, else fetched when a request first asks for reranking.",
    )
    rerank_text: Literal["indexed", "raw"] = Field(
        "indexed",
        validation_alias=env("RERANK_TEXT"),
        description="What a reranker reads of a chunk: the text that was indexed (headings included), or the chunk alone.",
    )
    rerank_timeout_s: float | None = Field(
        None,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_RERANK_TIMEOUT"),
        description="Longest that a search waits for reranking, in seconds, stand-ins included. Unset: the time budget of the reranker that was chosen.",
    )

    @field_validator("rerankers", mode="before")
    @classmethod
    def _read_json(cls, value: object) -> object:
        return read_json(value)

    @field_validator("rerankers")
    @classmethod
    def _names(cls, value: dict[str, RerankerSpec]) -> dict[str, RerankerSpec]:
        for name in value:
            if not NAME.fullmatch(name):
                raise ValueError(
                    f"{name!r} is no name of a reranker: small letters, digits, '.', '_' and '-', "
                    "at most 63"
                )
        return value

    @model_validator(mode="after")
    def _stand_ins_exist(self) -> Self:
        found = self.all_rerankers
        for name, spec in found.items():
            if spec.fallback is not None and spec.fallback not in found:
                raise ValueError(
                    f"the fallback of reranker {name} is {spec.fallback}, which is not configured; "
                    f"there are {', '.join(found)}"
                )
            if spec.fallback == name:
                raise ValueError(f"reranker {name} cannot be its own fallback")
        return self

    @property
    def all_rerankers(self) -> dict[str, RerankerSpec]:
        """By name: RAGBASE_RERANKERS, then the four URLs, then RAGBASE_RERANK_MODEL.

        ``timeout_s`` is filled in. What the four URLs name stands in for itself by ``default``, as
        the original replaced a sidecar that was away.
        """
        if not self.rerank_enabled:
            return {}
        found = dict(self.rerankers)
        for name, url in self._urls().items():
            if url and name not in found:
                found[name] = RerankerSpec(url=url, api_key=self.reranker_api_key)
        if self.rerank_model and "default" not in found:
            found["default"] = RerankerSpec(model=self.rerank_model)
        return {name: self._completed(name, spec, found) for name, spec in found.items()}

    def _urls(self) -> dict[str, str]:
        urls = (
            self.reranker_url,
            self.bge_gpu_reranker_url,
            self.qwen_reranker_url,
            self.qwen_8b_reranker_url,
        )
        return dict(zip(CONTRACT_RERANKERS, urls, strict=True))

    def _completed(
        self, name: str, spec: RerankerSpec, found: Mapping[str, RerankerSpec]
    ) -> RerankerSpec:
        timeout_s = spec.timeout_s or CONTRACT_RERANKERS.get(name, 60.0)
        fallback = spec.fallback
        if name not in self.rerankers and name != "default" and "default" in found:
            fallback = "default"
        return spec.model_copy(update={"timeout_s": timeout_s, "fallback": fallback})
