"""From settings to the language models in use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ragbase.clients.llm import Purpose
from ragbase.clients.select_llm import open_llm
from ragbase.services.llm import LanguageModels, LlmServer, PurposeModel
from ragbase.settings import Settings
from ragbase.settings.llm import LlmSpec

__all__ = ["language_models"]

_CHARACTERS: Final[Mapping[Purpose, int]] = {
    "contextual": 16_000,
    "extraction": 200_000,
    "linking": 8_000,
}
"""Longest answers, thinking included: who writes more than this will not come to an end."""


def language_models(settings: Settings) -> LanguageModels:
    """One model a purpose; purposes with the same address, model and key share a client.

    Raises `ConfigurationError`. Nobody is contacted.
    """
    specs: dict[Purpose, LlmSpec | None] = {
        "contextual": settings.llm_contextual,
        "extraction": settings.llm_extraction,
        "linking": settings.llm_linking,
    }
    servers: dict[tuple[str, str, str], LlmServer] = {}
    found: dict[Purpose, PurposeModel] = {}
    for purpose, spec in specs.items():
        if spec is None:
            continue
        if spec.server not in servers:
            name = "llm" if _is_common(spec, settings) else f"llm-{purpose}"
            servers[spec.server] = LlmServer(name, open_llm(spec, settings))
        found[purpose] = PurposeModel(
            purpose,
            servers[spec.server],
            timeout_s=spec.timeout_s,
            concurrency=spec.concurrency,
            characters=_CHARACTERS[purpose],
            max_output_tokens=spec.max_output_tokens,
            thinking=settings.llm_enable_thinking,
        )
    return LanguageModels(found)


def _is_common(spec: LlmSpec, settings: Settings) -> bool:
    return (spec.url, spec.model) == (settings.llm_base_url, settings.llm_model)
