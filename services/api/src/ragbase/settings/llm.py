"""The language model: which, and what each purpose may cost. Nothing a search waits for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr

from ragbase.settings.base import Section, env

__all__ = ["LlmSettings", "LlmSpec"]


@dataclass(frozen=True, slots=True)
class LlmSpec:
    """What one purpose uses. ``prefix``: of the settings that name address and key."""

    prefix: str
    url: str
    model: str
    api_key: str = field(repr=False)
    timeout_s: float
    concurrency: int
    max_output_tokens: int | None

    @property
    def server(self) -> tuple[str, str, str]:
        """Equal for purposes that share a model."""
        return self.url, self.model, self.api_key


class LlmSettings(Section):
    """The language model: which, and what each purpose may cost. Nothing a search waits for."""

    llm_base_url: str = Field(
        "",
        validation_alias=env("LLM_BASE_URL"),
        description="Base URL of a server with OpenAI's Responses API or chat completions; unset: no language model.",
    )
    llm_model: str = Field(
        "",
        validation_alias=env("LLM_MODEL"),
        description="Model to ask for; unset: the only one the server lists.",
    )
    llm_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("LLM_API_KEY"),
        description="Bearer token of the server.",
    )
    llm_enable_thinking: bool = Field(
        False,
        validation_alias=env("LLM_ENABLE_THINKING"),
        description="Let the model think before it answers (slower; what it thinks is never used).",
    )
    llm_api: Literal["auto", "responses", "chat"] = Field(
        "auto",
        validation_alias=env("LLM_API"),
        description="Protocol. auto: the Responses API; chat completions where the server has no such route, leaves thinking in the answer, or ignores the JSON schema.",
    )
    prompts_dir: Path | None = Field(
        None,
        validation_alias=env("RAGBASE_PROMPTS_DIR"),
        description="Folder with prompt files that replace the built-in ones of the same name.",
    )
    llm_cache_days: float = Field(
        7.0,
        ge=0,
        le=36_500,
        validation_alias=env("LLM_CACHE_DAYS"),
        description="How long answers are kept for the same question; 0: not at all.",
    )

    llm_contextual_enabled: bool = Field(
        True,
        validation_alias=env("LLM_CONTEXTUAL_ENABLED"),
        description="Context lines: false leaves them out although there is a language model.",
    )
    llm_contextual_base_url: str = Field(
        "",
        validation_alias=env("LLM_CONTEXTUAL_BASE_URL"),
        description="Context lines: another server than LLM_BASE_URL.",
    )
    llm_contextual_model: str = Field(
        "",
        validation_alias=env("LLM_CONTEXTUAL_MODEL"),
        description="Context lines: another model than LLM_MODEL.",
    )
    llm_contextual_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("LLM_CONTEXTUAL_API_KEY"),
        description="Context lines: key of the other server (LLM_API_KEY is never sent there).",
    )
    llm_contextual_timeout_s: float = Field(
        60.0,
        gt=0,
        le=3600,
        validation_alias=env("LLM_CONTEXTUAL_TIMEOUT"),
        description="Context lines: longest for one line, retries included, in seconds.",
    )
    llm_contextual_concurrency: int = Field(
        4,
        ge=1,
        le=1024,
        validation_alias=env("LLM_CONTEXTUAL_CONCURRENCY"),
        description="Context lines: asked for at once by one process.",
    )
    llm_contextual_budget_s: float = Field(
        60.0,
        ge=0,
        le=3600,
        validation_alias=env("LLM_CONTEXTUAL_BUDGET"),
        description="Context lines: longest that a request waits for those of its document, in seconds; a job makes the rest.",
    )
    llm_contextual_document_tokens: int = Field(
        16_000,
        ge=256,
        validation_alias=env("LLM_CONTEXTUAL_DOCUMENT_TOKENS"),
        description="Context lines: most of the document that a prompt holds, in tokens (estimated); of a longer one its beginning and a window around the chunk.",
    )
    llm_contextual_line_tokens: int = Field(
        100,
        ge=8,
        le=2_000,
        validation_alias=env("LLM_CONTEXTUAL_LINE_TOKENS"),
        description="Context lines: longest line, in the embedder's tokens; never more than a quarter of what the embedder takes.",
    )
    llm_contextual_max_output_tokens: int | None = Field(
        None,
        ge=1,
        validation_alias=env("LLM_CONTEXTUAL_MAX_OUTPUT_TOKENS"),
        description="Context lines: bound sent to the server; an answer that meets it counts as unfinished. Unset: none is sent.",
    )

    llm_extraction_enabled: bool = Field(
        True,
        validation_alias=env("LLM_EXTRACTION_ENABLED"),
        description="Extraction of entities: false leaves the language model out of it.",
    )
    llm_extraction_base_url: str = Field(
        "",
        validation_alias=env("LLM_EXTRACTION_BASE_URL"),
        description="Extraction of entities: another server than LLM_BASE_URL.",
    )
    llm_extraction_model: str = Field(
        "",
        validation_alias=env("LLM_EXTRACTION_MODEL"),
        description="Extraction of entities: another model than LLM_MODEL.",
    )
    llm_extraction_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias=env("LLM_EXTRACTION_API_KEY"),
        description="Extraction of entities: key of the other server (LLM_API_KEY is never sent there).",
    )
    llm_extraction_timeout_s: float = Field(
        300.0,
        gt=0,
        le=3600,
        validation_alias=env("LLM_EXTRACTION_TIMEOUT"),
        description="Extraction of entities: longest for one call, retries included, in seconds.",
    )
    llm_extraction_concurrency: int = Field(
        2,
        ge=1,
        le=1024,
        validation_alias=env("LLM_EXTRACTION_CONCURRENCY"),
        description="Extraction of entities: calls at once by one process.",
    )
    llm_extraction_max_output_tokens: int | None = Field(
        None,
        ge=1,
        validation_alias=env("LLM_EXTRACTION_MAX_OUTPUT_TOKENS"),
        description="Extraction of entities: as LLM_CONTEXTUAL_MAX_OUTPUT_TOKENS.",
    )

    @property
    def llm_contextual(self) -> LlmSpec | None:
        """What context lines are asked of; None: not configured, or off."""
        if not self.llm_contextual_enabled:
            return None
        return self._spec(
            "LLM_CONTEXTUAL",
            self.llm_contextual_base_url,
            self.llm_contextual_model,
            self.llm_contextual_api_key,
            self.llm_contextual_timeout_s,
            self.llm_contextual_concurrency,
            self.llm_contextual_max_output_tokens,
        )

    @property
    def llm_extraction(self) -> LlmSpec | None:
        """What extraction is asked of; None: not configured, or off."""
        if not self.llm_extraction_enabled:
            return None
        return self._spec(
            "LLM_EXTRACTION",
            self.llm_extraction_base_url,
            self.llm_extraction_model,
            self.llm_extraction_api_key,
            self.llm_extraction_timeout_s,
            self.llm_extraction_concurrency,
            self.llm_extraction_max_output_tokens,
        )

    @property
    def llm_linking(self) -> LlmSpec | None:
        """What a search may ask, where it is set up to; it has two seconds and a place of its own."""
        return self._spec("LLM", "", "", SecretStr(""), 2.0, 8, None)

    def _spec(
        self,
        prefix: str,
        own_url: str,
        own_model: str,
        own_key: SecretStr,
        timeout_s: float,
        concurrency: int,
        max_output_tokens: int | None,
    ) -> LlmSpec | None:
        url = own_url or self.llm_base_url
        if not url:
            return None
        key = own_key.get_secret_value()
        if not own_url:
            key = key or self.llm_api_key.get_secret_value()
        return LlmSpec(
            prefix=prefix if own_url else "LLM",
            url=url,
            model=own_model or self.llm_model,
            api_key=key,
            timeout_s=timeout_s,
            concurrency=concurrency,
            max_output_tokens=max_output_tokens,
        )
