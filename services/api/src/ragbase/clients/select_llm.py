"""Makes the clients of the language models that the settings name."""

from __future__ import annotations

from ragbase.clients.llm_remote import RemoteLlm
from ragbase.clients.server_role import ServerRole
from ragbase.settings import Settings
from ragbase.settings.llm import LlmSpec

__all__ = ["open_llm"]


def open_llm(spec: LlmSpec, settings: Settings) -> RemoteLlm:
    """A client; nobody is contacted. Raises `ConfigurationError` for an address or key that
    cannot work."""
    role = ServerRole("LLM server", f"{spec.prefix}_BASE_URL", f"{spec.prefix}_API_KEY")
    return RemoteLlm(spec.url, role, model=spec.model, api_key=spec.api_key, api=settings.llm_api)
