"""Contexts of chunks: each asked for once, a bounded number at a time, all or none."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from ragbase.errors import ConfigurationError, DeadlineExceededError, RagBaseError
from ragbase.ingest.contextual import Span, clean_line, fronts
from ragbase.ingest.flat_windows import Window
from ragbase.services.llm import LanguageModels
from ragbase.services.localrag.models import ANSWER_TOKENS, Chosen, LocalModels, Write
from ragbase.services.localrag.notes import Note
from ragbase.text.prompts import Prompts

__all__ = ["ContextRules", "ContextService", "openai_missing"]

LEAST_DOCUMENT_TOKENS = 256
_TOO_LONG = ("text_too_long", "llm_input_too_long")


def openai_missing() -> ConfigurationError:
    """Asked for, and not configured: refused wherever it is asked for."""
    return ConfigurationError(
        "useOpenAI is set, but no OpenAI key is configured on this server "
        "(LOCALRAG_OPENAI_API_KEY, or LLM_BASE_URL)",
        code="openai_not_configured",
    )


@dataclass(frozen=True, slots=True)
class ContextRules:
    """``chat_model`` writes contexts (``is_default``: nobody chose it); ``parallel`` at once by
    this process, each in ``timeout_s`` seconds, with ``document_tokens`` of the document."""

    chat_model: str
    is_default: bool
    parallel: int
    timeout_s: float
    document_tokens: int


class ContextService:
    """Writes contexts by a local chat model or, on request, by OpenAI's."""

    def __init__(
        self,
        models: LocalModels,
        prompts: Prompts,
        rules: ContextRules,
        openai: LanguageModels | None,
    ) -> None:
        self._models = models
        self._prompts = prompts
        self._rules = rules
        self._openai = openai
        self._places = asyncio.Semaphore(rules.parallel)

    def check(self, *, use_openai: bool) -> None:
        """Raise `ConfigurationError` where OpenAI is asked for and not configured."""
        if use_openai and self._openai is None:
            raise openai_missing()

    async def write(
        self, text: str, windows: Sequence[Window], *, use_openai: bool
    ) -> tuple[list[str], list[Note]]:
        """One context a window, "" where the model had nothing to say.

        Raises what the first that fails raises; the others are given up then.
        """
        if not windows:
            return [], []
        chosen = await self._writer(use_openai=use_openai)
        tokens = self._rules.document_tokens
        if chosen.max_tokens is not None:  # half of it is left to the chunk, and to estimates
            tokens = max(
                LEAST_DOCUMENT_TOKENS, min(tokens, (chosen.max_tokens - ANSWER_TOKENS) // 2)
            )
        notes = [chosen.note] if chosen.note is not None else []
        spans = [Span(window.start, window.end) for window in windows]
        while True:
            try:
                return await self._write_all(chosen.model, text, spans, tokens), notes
            except RagBaseError as error:
                if error.code not in _TOO_LONG or tokens // 2 < LEAST_DOCUMENT_TOKENS:
                    raise
            tokens //= 2

    async def _writer(self, *, use_openai: bool) -> Chosen[Write]:
        if use_openai:
            if self._openai is None:
                raise openai_missing()
            return Chosen(self._models.asking(self._openai))
        return await self._models.writer(self._rules.chat_model, default=self._rules.is_default)

    async def _write_all(
        self, write: Write, text: str, spans: Sequence[Span], tokens: int
    ) -> list[str]:
        found = await asyncio.to_thread(fronts, text, spans, tokens)
        contexts = [""] * len(spans)
        waiting = iter([(place, front.text) for front in found for place in front.chunks])

        async def work() -> None:
            for place, front in waiting:
                span = spans[place]
                prompt = self._prompts.fill(
                    "localrag_context", document=front, chunk=text[span.start : span.end]
                )
                async with self._places:
                    contexts[place] = await self._write(write, prompt)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(self._rules.parallel, len(spans))):
                    group.create_task(work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        return contexts

    async def _write(self, write: Write, prompt: str) -> str:
        try:
            async with asyncio.timeout(self._rules.timeout_s):
                return clean_line(await write(prompt))
        except TimeoutError:
            raise DeadlineExceededError(
                f"A context was not written within {self._rules.timeout_s:g} seconds "
                "(LOCALRAG_CONTEXT_TIMEOUT).",
                code="context_timeout",
            ) from None
