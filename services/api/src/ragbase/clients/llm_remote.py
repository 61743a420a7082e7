"""A language model behind HTTP: which protocol its server speaks, retries, one total deadline."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ragbase.clients.answers import Answer, RefusedError, TransientError, json_of
from ragbase.clients.http import AsyncHttp, Endpoint, StreamedAnswer
from ragbase.clients.llm_chat import ChatCompletions
from ragbase.clients.llm_json import json_text
from ragbase.clients.llm_request import Answering, Completion, Dialect, Extra, Question, Usage
from ragbase.clients.llm_request import too_long as is_too_long
from ragbase.clients.llm_responses import Responses
from ragbase.clients.llm_thinking import holds_thinking, without_thinking
from ragbase.clients.retry import Retries, RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.clients.sse import events
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import (
    DeadlineExceededError,
    LlmInputTooLongError,
    LlmUnavailableError,
    UpstreamError,
)

__all__ = ["Api", "LlmInfo", "RemoteLlm", "Spent"]

Api: TypeAlias = Literal["auto", "responses", "chat"]
Spent: TypeAlias = Callable[[Usage | None, str], None]
"""Told of each answer that came to its end, used or not: its tokens (None: not reported) and text."""

PING_S: Final = 4.0
ATTEMPTS: Final = 4
_NO_ROUTE: Final = (404, 405, 501)
_BLAMED: Final[tuple[tuple[Extra, str], ...]] = (
    ("thinking", "chat_template_kwargs|enable_thinking"),
    ("usage", "stream_options|include_usage"),
    ("length", "max_output_tokens|max_tokens"),
    ("temperature", "temperature"),
    ("schema", "response_format|json_schema|text[.]format|structured|grammar|schema"),
)
"""What a refusal names, and in this order what is left out where it names nothing."""


@dataclass(frozen=True, slots=True)
class LlmInfo:
    """The model's name as its server lists it, and the protocol in use."""

    model: str
    api: str


class RemoteLlm:
    """One model at one server; ``url`` with or without the ``/v1`` at its end.

    ``api`` ``auto``: the Responses API, and chat completions where the server has no such route,
    leaves thinking in the answer, or keeps to no schema. ``model`` "": the only one it lists.
    """

    def __init__(
        self,
        url: str,
        role: ServerRole,
        *,
        model: str = "",
        api_key: str = "",
        api: Api = "auto",
        timeout_s: float = 3600.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        base = url.strip().rstrip("/").removesuffix("/v1")
        self._http = AsyncHttp(Endpoint.parse(base, api_key, role), timeout_s=timeout_s)
        self._role = role
        self._given = model
        self._served = ""
        self._api = api
        self._retry = retry or RetryPolicy(attempts=ATTEMPTS, first_wait_s=1.0)
        self._responses, self._chat = Responses(), ChatCompletions()
        self._lacks: set[str] = set()
        """Names of dialects that the server has no route for."""
        self._prefers_chat = False
        """Thinking was left in an answer of the other protocol."""
        self._schema_by_chat = False
        self._extras = {each.name: each.extras for each in (self._responses, self._chat)}

    @property
    def info(self) -> LlmInfo:
        """As known by now."""
        return LlmInfo(self._given or self._served or "unknown", self._dialects(None)[0].name)

    async def complete(self, question: Question, *, within_s: float, spent: Spent) -> str:
        """The answer, as `ragbase.clients.llm.Complete.complete` promises and raises."""
        retries = Retries(_within(self._retry, within_s))
        with _translated():
            async for attempt in retries:
                with attempt:
                    return await self._ask(question, retries, spent)
        raise AssertionError("the last attempt returns or raises")

    async def ping(self) -> None:
        """Return when the server answers; costs no tokens (``GET /v1/models``, in any form)."""
        with _translated():
            try:
                await self._list(RetryPolicy.once(PING_S))
            except RefusedError as refusal:
                if refusal.http_status not in _NO_ROUTE:
                    raise

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    # The model's name

    async def _list(self, policy: RetryPolicy) -> None:
        listed = await self._http.call("GET", "v1/models", read=_ids, policy=policy)
        if len(listed) == 1:
            self._served = listed[0]
        elif not self._given:
            names = ", ".join(listed[:5]) or "no model"
            raise UpstreamError(
                f"The {self._role.what} lists {names}: name the one to use, see LLM_MODEL.",
                code="llm_refused",
            )

    async def _model(self, within_s: float) -> str:
        if not self._given and not self._served:
            await self._list(RetryPolicy.once(min(PING_S, within_s)))
        return self._given or self._served

    # Protocols

    def _dialects(self, question: Question | None) -> list[Dialect]:
        """Those to try, best first."""
        if self._api != "auto":
            return [self._responses if self._api == "responses" else self._chat]
        by_chat = self._prefers_chat or (
            self._schema_by_chat and question is not None and question.schema is not None
        )
        order: list[Dialect] = [self._chat] if by_chat else [self._responses, self._chat]
        there = [each for each in order if each.name not in self._lacks]
        return there or [self._responses]

    async def _ask(self, question: Question, retries: Retries, spent: Spent) -> str:
        *first, last = self._dialects(question)
        for dialect in first:
            answer = await self._try(dialect, question, retries, spent)
            if answer is not None:
                return answer
        try:
            return _answer(await self._send(last, question, retries, spent), question, self._role)
        except RefusedError as refusal:
            if _no_route(refusal) and self._api == "auto" and "responses" not in self._lacks:
                self._lacks.add(last.name)  # so the other one it is, with all its faults
                self._prefers_chat = self._schema_by_chat = False
                raise UnusableAnswerError(f"The {self._role.what} left thinking in.") from None
            raise

    async def _try(
        self, dialect: Dialect, question: Question, retries: Retries, spent: Spent
    ) -> str | None:
        """The answer; None where the next protocol must be asked, now and from now on."""
        try:
            completion = await self._send(dialect, question, retries, spent)
        except RefusedError as refusal:
            if not _no_route(refusal):
                raise
            self._lacks.add(dialect.name)
            return None
        if holds_thinking(completion.text) or (completion.reasoned and not completion.text.strip()):
            self._prefers_chat = True
        try:
            return _answer(completion, question, self._role)
        except UnusableAnswerError:
            if question.schema is not None and completion.text.strip():
                self._schema_by_chat = True
            elif not self._prefers_chat:
                raise
            return None

    async def _send(
        self, dialect: Dialect, question: Question, retries: Retries, spent: Spent
    ) -> Completion:
        """One answer; parts of the request that the server does not know are left out."""
        extras = self._extras[dialect.name]
        while True:
            try:
                completion = await self._stream(dialect, question, extras, retries, spent)
            except RefusedError as refusal:
                blamed = _blamed(refusal, dialect, question, extras)
                if blamed is None:
                    raise
                extras = extras - {blamed}
            else:
                self._extras[dialect.name] = extras
                return completion

    async def _stream(
        self,
        dialect: Dialect,
        question: Question,
        extras: frozenset[Extra],
        retries: Retries,
        spent: Spent,
    ) -> Completion:
        model = await self._model(retries.seconds_left)
        body = dialect.body(question, model, extras)
        answering = Answering(question, self._role)
        try:
            async with self._http.stream(
                dialect.path, body, accept="text/event-stream", within_s=retries.seconds_left
            ) as answer:
                await _receive(dialect, answering, answer)
            return answering.result()
        finally:
            if answering.size or answering.usage:
                spent(answering.usage, "".join(answering.parts))


async def _receive(dialect: Dialect, answering: Answering, answer: StreamedAnswer) -> None:
    if answer.media_type == "application/json":  # it does not stream
        whole = b"".join([piece async for piece in answer.pieces])
        dialect.read(answering, json_of(Answer(200, {}, whole, answering.server)))
        return
    async for event in events(_until_ended(answer.pieces, answering)):
        dialect.hear(answering, event)


async def _until_ended(pieces: AsyncIterator[bytes], answering: Answering) -> AsyncIterator[bytes]:
    """All pieces; a connection that breaks after the answer's end has cost nothing."""
    try:
        async for piece in pieces:
            yield piece
    except Exception:
        if not answering.ended:
            raise


def _answer(completion: Completion, question: Question, role: ServerRole) -> str:
    text = without_thinking(completion.text)
    if not text:
        thought = completion.reasoned or completion.text.strip()
        what = "only thinking" if thought else "nothing"
        raise UnusableAnswerError(f"The {role.what} answered with {what}.")
    return text if question.schema is None else json_text(text, question.schema)


def _no_route(refusal: RefusedError) -> bool:
    """A 404 that speaks of a model is about the model (OpenAI, vLLM, Ollama)."""
    named = refusal.http_status == 404 and re.search("model", refusal.reason, re.IGNORECASE)
    return refusal.http_status in _NO_ROUTE and not named


def _blamed(
    refusal: RefusedError, dialect: Dialect, question: Question, extras: frozenset[Extra]
) -> Extra | None:
    """The part of the request to leave out next; None where none can be at fault."""
    if refusal.http_status not in (400, 422) or is_too_long(refusal):
        return None
    sent = dialect.body(question, "", extras)
    there = [extra for extra, _ in _BLAMED if sent != dialect.body(question, "", extras - {extra})]
    for extra, pattern in _BLAMED:
        if extra in there and re.search(pattern, refusal.reason, re.IGNORECASE):
            return extra
    return there[0] if there else None


def _ids(answer: Answer) -> list[str]:
    listed = json_of(answer)
    data = listed.get("data") if isinstance(listed, dict) else None
    ids = [card.get("id") for card in data or [] if isinstance(card, dict)]
    return [each for each in ids if isinstance(each, str)]


def _within(policy: RetryPolicy, seconds: float) -> RetryPolicy:
    return RetryPolicy(policy.attempts, seconds, policy.first_wait_s, policy.longest_wait_s)


@contextmanager
def _translated() -> Iterator[None]:
    """What the shared HTTP core calls an absent embedder is an absent language model here."""
    try:
        yield
    except TransientError as error:
        if error.late:
            raise DeadlineExceededError(error.message, code="llm_timeout") from None
        limited = error.http_status == 429
        raise LlmUnavailableError(
            error.message,
            code="llm_rate_limited" if limited else None,
            http_status=error.http_status,
            retry_after=error.retry_after or 0.0,
        ) from None
    except UnusableAnswerError as error:
        raise UpstreamError(error.message, code="llm_unusable_answer") from None
    except RefusedError as refusal:
        if is_too_long(refusal):
            raise LlmInputTooLongError(refusal.message) from None
        code = "llm_refused" if refusal.of_setup else "llm_rejected"
        raise UpstreamError(refusal.message, code=code) from None
