"""One question to a language model and its answer, whatever protocol carries them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from ragbase.clients.answers import RefusedError, TransientError
from ragbase.clients.llm import JsonSchema, Message
from ragbase.clients.server_role import ServerRole
from ragbase.clients.sse import Event
from ragbase.clients.vectors import UnusableAnswerError

__all__ = [
    "Answering",
    "Completion",
    "Dialect",
    "Extra",
    "Question",
    "Usage",
    "broken_off",
    "reported",
    "too_long",
]

Extra: TypeAlias = Literal["thinking", "schema", "usage", "length", "temperature"]
"""Parts of a request that a server may not know, and then answers 400 or 422: left out since."""


@dataclass(frozen=True, slots=True)
class Question:
    """``characters`` bounds the answer, thinking included; ``tokens`` and ``temperature`` are sent,
    where given. ``partial``: an answer that ends at ``tokens`` is one."""

    prompt: str
    system: str = ""
    history: Sequence[Message] = ()
    schema: JsonSchema | None = None
    characters: int = 64_000
    tokens: int | None = None
    thinking: bool = False
    temperature: float | None = None
    partial: bool = False

    def messages(self) -> list[dict[str, str]]:
        """In OpenAI's form."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        earlier = [{"role": each.role, "content": each.content} for each in self.history]
        return [*system, *earlier, {"role": "user", "content": self.prompt}]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them; ``cached`` is the part of ``input`` it had ready."""

    input: int
    output: int
    cached: int = 0

    @classmethod
    def read(cls, raw: object) -> Usage | None:
        """Of either protocol's ``usage`` object; None where it holds no counts."""
        if not isinstance(raw, dict):
            return None
        given = raw.get("input_tokens", raw.get("prompt_tokens"))
        made = raw.get("output_tokens", raw.get("completion_tokens"))
        details = raw.get("input_tokens_details") or raw.get("prompt_tokens_details") or {}
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        if not isinstance(given, int) or not isinstance(made, int):
            return None
        return cls(given, made, cached if isinstance(cached, int) else 0)


@dataclass(frozen=True, slots=True)
class Completion:
    """``reasoned``: thinking came, in a place of its own."""

    text: str
    usage: Usage | None = None
    reasoned: bool = False


@dataclass(slots=True)
class Answering:
    """An answer that is arriving.

    ``ended``: the server said that this is all; ``unfinished``: why it is not whole all the same.
    """

    question: Question
    server: ServerRole
    parts: list[str] = field(default_factory=list)
    usage: Usage | None = None
    reasoned: bool = False
    ended: bool = False
    unfinished: str = ""
    size: int = 0

    def add(self, text: object, *, thinking: bool = False) -> None:
        """A piece of the answer or of thinking; `UnusableAnswerError` when it never ends."""
        if not isinstance(text, str) or not text:
            return
        self.size += len(text)
        if thinking:
            self.reasoned = True
        else:
            self.parts.append(text)
        if self.size > self.question.characters:
            raise UnusableAnswerError(
                f"The {self.server.what} wrote more than {self.question.characters} characters."
            )

    def result(self) -> Completion:
        """The whole. Raises `TransientError` where the stream broke off before its end, and
        `UnusableAnswerError` where the server did not finish."""
        if not self.ended:
            raise broken_off(self.server)
        cut = self.unfinished in _CUT and bool(self.parts)
        if self.unfinished and not (cut and self.question.partial):
            raise UnusableAnswerError(
                f"The {self.server.what} did not finish its answer ({self.unfinished})."
            )
        return Completion("".join(self.parts), self.usage, self.reasoned)


class Dialect(Protocol):
    """A protocol: what is sent where, and what the events say."""

    name: Literal["responses", "chat"]
    path: str
    extras: frozenset[Extra]

    def body(self, question: Question, model: str, extras: frozenset[Extra]) -> dict[str, Any]:
        """The request; of ``extras`` those that apply."""

    def hear(self, answering: Answering, event: Event) -> None:
        """Take in one event. Raises what the event reports."""

    def read(self, answering: Answering, whole: object) -> None:
        """Take in an answer of a server that does not stream."""


_CUT: Final = ("length", "max_tokens", "max_output_tokens")
"""What servers call an answer that met its bound."""
_TOO_LONG: Final = re.compile(
    r"context.?(length|size|window)|maximum context|exceed_context|too long|too many tokens"
    r"|(input|prompt|request).{0,40}(exceed|longer than)",
    re.IGNORECASE,
)


def too_long(refusal: RefusedError) -> bool:
    """Whether the server finds the prompt too long for its model."""
    size = refusal.http_status == 413
    return size or (refusal.http_status in (400, 422) and bool(_TOO_LONG.search(refusal.reason)))


def broken_off(server: ServerRole) -> TransientError:
    """A stream that ended without its final event is no answer, however whole it looks."""
    return TransientError(f"The {server.what}'s answer broke off before its end.")


def reported(error: object, server: ServerRole) -> Exception:
    """What an ``error`` object in the middle of a stream means."""
    shape = error if isinstance(error, dict) else {"message": error}
    code = " ".join(str(shape.get(key) or "") for key in ("code", "type"))
    reason = " ".join(str(shape.get("message") or "").split())[:300]
    if _TOO_LONG.search(f"{code} {reason}"):
        return RefusedError(400, reason, structured=True, server=server)
    if re.search("rate_?limit|429|quota", code, re.IGNORECASE):
        return TransientError(f"The {server.what} limits our rate.", http_status=429)
    if re.search("server|unavailable|overload|timeout|50[0-4]", code, re.IGNORECASE):
        return TransientError(f"The {server.what} failed in the middle. {reason}".rstrip())
    return UnusableAnswerError(f"The {server.what} could not answer. {reason}".rstrip())
