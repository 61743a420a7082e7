"""OpenAI's Responses API: ``POST /v1/responses``, streamed (contract §11)."""

from __future__ import annotations

from typing import Any, Literal

import orjson

from ragbase.clients.llm_request import Answering, Extra, Question, Usage, reported
from ragbase.clients.sse import Event
from ragbase.clients.vectors import UnusableAnswerError

__all__ = ["Responses"]

_FAILED = ("response.failed", "error")


class Responses:
    """Implements `ragbase.clients.llm_request.Dialect`."""

    name: Literal["responses", "chat"] = "responses"
    path = "v1/responses"
    extras: frozenset[Extra] = frozenset({"thinking", "schema", "length", "temperature"})

    def body(self, question: Question, model: str, extras: frozenset[Extra]) -> dict[str, Any]:
        """``chat_template_kwargs`` is an extension of vLLM's that llama.cpp and SGLang took over."""
        body: dict[str, Any] = {"model": model, "input": question.messages(), "stream": True}
        if "thinking" in extras:
            body["chat_template_kwargs"] = {"enable_thinking": question.thinking}
        if "schema" in extras and question.schema is not None:
            schema = {"type": "json_schema", "name": "answer", "schema": dict(question.schema)}
            body["text"] = {"format": schema}
        if "length" in extras and question.tokens is not None:
            body["max_output_tokens"] = question.tokens
        if "temperature" in extras and question.temperature is not None:
            body["temperature"] = question.temperature
        return body

    def hear(self, answering: Answering, event: Event) -> None:
        """The name is the event line's or, without one, the ``type``; what is no JSON is skipped."""
        try:
            data = orjson.loads(event.data)
        except orjson.JSONDecodeError:
            return
        if not isinstance(data, dict):
            return
        name = event.name or str(data.get("type") or "")
        if name == "response.output_text.delta":
            answering.add(data.get("delta"))
        elif name.startswith("response.reasoning") and name.endswith(".delta"):
            answering.add(data.get("delta"), thinking=True)
        elif name == "response.completed":
            self.read(answering, data.get("response"))
        elif name in _FAILED:
            response = data.get("response")
            raise reported(
                _error(response if isinstance(response, dict) else data), answering.server
            )
        elif name == "response.incomplete":
            _incomplete(data.get("response"), answering)

    def read(self, answering: Answering, whole: object) -> None:
        """Status, usage, and the texts where no delta brought them."""
        if not isinstance(whole, dict) or not isinstance(whole.get("output", []), list):
            raise UnusableAnswerError(f"The {answering.server.what} sent no response object.")
        if whole.get("status") == "failed" or whole.get("error"):
            raise reported(_error(whole), answering.server)
        if whole.get("status") == "incomplete":
            _incomplete(whole, answering)
            return
        answering.usage = Usage.read(whole.get("usage")) or answering.usage
        items = [item for item in whole.get("output") or [] if isinstance(item, dict)]
        answering.reasoned |= any(item.get("type") == "reasoning" for item in items)
        if not answering.parts:
            for text in _texts(items):
                answering.add(text)
        answering.ended = True


def _texts(items: list[dict[str, Any]]) -> list[str]:
    contents = [item.get("content") for item in items if item.get("type") == "message"]
    pieces = [piece for content in contents if isinstance(content, list) for piece in content]
    texts = [
        piece.get("text")
        for piece in pieces
        if isinstance(piece, dict) and piece.get("type") == "output_text"
    ]
    return [text for text in texts if isinstance(text, str)]


def _error(shape: dict[str, Any]) -> object:
    """The error object of a response, or of an ``error`` event, which may be one itself."""
    return shape.get("error") or shape


def _incomplete(response: object, answering: Answering) -> None:
    shape = response if isinstance(response, dict) else {}
    details = shape.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, dict) else None
    answering.usage = Usage.read(shape.get("usage")) or answering.usage
    if not answering.parts and isinstance(shape.get("output"), list):
        for text in _texts([item for item in shape["output"] if isinstance(item, dict)]):
            answering.add(text)
    answering.unfinished = str(reason or "no reason given")[:50]
    answering.ended = True
