"""What the rest of RagBase sees of a large language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

__all__ = ["Complete", "JsonSchema", "Message", "Purpose"]

Purpose = Literal["contextual", "extraction", "linking"]
"""What a completion is for. Settings, budgets and counters go by it."""

JsonSchema: TypeAlias = Mapping[str, Any]
"""A JSON schema whose top level has a ``type``: ``object`` or ``array``."""


@dataclass(frozen=True, slots=True)
class Message:
    """An earlier turn of the conversation."""

    role: Literal["user", "assistant"]
    content: str


class Complete(Protocol):
    """Asks a language model. Implemented by `ragbase.services.llm.LanguageModels`."""

    async def complete(
        self,
        system: str,
        prompt: str,
        *,
        purpose: Purpose,
        schema: JsonSchema | None = None,
        history: Sequence[Message] = (),
        within_s: float | None = None,
    ) -> str:
        """The answer: without thinking, without white space around it, never empty.

        ``system`` "" sends none. With ``schema`` the answer is one JSON value of the schema's type,
        as text: the server is asked to keep to the schema where it can, which is no promise, so
        check what you read. ``history`` stands between ``system`` and ``prompt``. Takes at most
        ``within_s`` seconds, and never more than the purpose's time-out, retries included.

        Raises, and the first four may be better later:
        `LlmUnavailableError` (away, overloaded, rate-limited, or left alone after failures),
        `DeadlineExceededError` (code ``llm_timeout``),
        `UpstreamError` (code ``llm_unusable_answer``: empty, only thinking, half JSON),
        `UpstreamError` (code ``llm_refused``: wrong key, address or model name; a person must act),
        `LlmInputTooLongError` (the same prompt will never fit the model).
        """
