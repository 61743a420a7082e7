"""Chat completions: ``POST /v1/chat/completions``, streamed; what nearly every server speaks."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from ragbase.clients.llm_request import Answering, Extra, Question, Usage, reported
from ragbase.clients.sse import Event
from ragbase.clients.vectors import UnusableAnswerError

__all__ = ["ChatCompletions"]

_THINKING = ("reasoning_content", "reasoning")


class ChatCompletions:
    """Implements `ragbase.clients.llm_request.Dialect`."""

    name: Literal["responses", "chat"] = "chat"
    path = "v1/chat/completions"
    extras: frozenset[Extra] = frozenset({"thinking", "schema", "usage", "length", "temperature"})

    def body(self, question: Question, model: str, extras: frozenset[Extra]) -> dict[str, Any]:
        """As OpenAI documents it, and vLLM's ``chat_template_kwargs``."""
        body: dict[str, Any] = {"model": model, "messages": question.messages(), "stream": True}
        if "usage" in extras:
            body["stream_options"] = {"include_usage": True}
        if "thinking" in extras:
            body["chat_template_kwargs"] = {"enable_thinking": question.thinking}
        if "schema" in extras and question.schema is not None:
            schema = {"name": "answer", "schema": dict(question.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if "length" in extras and question.tokens is not None:
            body["max_tokens"] = question.tokens
        if "temperature" in extras and question.temperature is not None:
            body["temperature"] = question.temperature
        return body

    def hear(self, answering: Answering, event: Event) -> None:
        """One chunk; the usage comes in one of its own, after the last choice."""
        if event.data.strip() == "[DONE]":
            return
        try:
            chunk = orjson.loads(event.data)
        except orjson.JSONDecodeError:
            return
        if isinstance(chunk, dict):
            self._take(answering, chunk, "delta")

    def read(self, answering: Answering, whole: object) -> None:
        """The same with ``message`` in place of ``delta``."""
        if not isinstance(whole, dict):
            raise UnusableAnswerError(f"The {answering.server.what} sent no completion object.")
        self._take(answering, whole, "message")

    def _take(self, answering: Answering, chunk: dict[str, Any], key: str) -> None:
        if chunk.get("error"):
            raise reported(chunk["error"], answering.server)
        answering.usage = Usage.read(chunk.get("usage")) or answering.usage
        choices = chunk.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            return
        said = choice.get(key)
        if isinstance(said, dict):
            for name in _THINKING:
                answering.add(said.get(name), thinking=True)
            answering.add(said.get("content"))
        self._finish(answering, choice.get("finish_reason"))

    @staticmethod
    def _finish(answering: Answering, reason: object) -> None:
        if reason is None:
            return
        answering.ended = True
        if reason != "stop":  # length, content_filter, tool_calls, …; the usage is still to come
            answering.unfinished = str(reason)[:50]
