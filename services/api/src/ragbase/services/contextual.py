"""Context lines of a document's chunks: asked for in order, kept by hash, as many as can be had."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, TypeAlias

from ragbase.errors import (
    DatabaseUnavailableError,
    DeadlineExceededError,
    LlmInputTooLongError,
    RagBaseError,
    UpstreamError,
)
from ragbase.ingest.contextual import Front, Span, clean_line, fronts
from ragbase.services.llm import LanguageModels
from ragbase.storage import extractions as store
from ragbase.storage.pool import Database
from ragbase.telemetry.logs import get_logger
from ragbase.telemetry.metrics import count_contexts
from ragbase.text.prompts import Prompts

__all__ = ["ContextRules", "ContextWriter", "Lines"]

PURPOSE: Final = "contextual"
LEAST_DOCUMENT_TOKENS: Final = 256
_KEY_BYTES: Final = 32

Report: TypeAlias = Callable[[int, int], None]
"""Told how many lines there are, of how many."""

_log = get_logger("ragbase.context")


@dataclass(frozen=True, slots=True)
class ContextRules:
    """Bounds of context lines, see `ragbase.settings.llm`; ``cached``: answers are kept."""

    document_tokens: int = 16_000
    line_tokens: int = 100
    budget_s: float = 60.0
    cached: bool = True


@dataclass(slots=True)
class Lines:
    """One line a chunk, None where there is none; ``error`` is why, of the first that failed.

    ``keys`` are those of kept answers, which may belong to no document yet.
    """

    lines: list[str | None]
    error: RagBaseError | None = None
    keys: list[bytes] = field(default_factory=list)

    @property
    def missing(self) -> int:
        """Chunks without a line."""
        return self.lines.count(None)


class ContextWriter:
    """Asks the language model; holds no connection meanwhile."""

    def __init__(
        self, database: Database, llms: LanguageModels, prompts: Prompts, rules: ContextRules
    ) -> None:
        self._database = database
        self._llms = llms
        self._prompts = prompts
        self.rules = rules
        self._document_tokens = rules.document_tokens
        """Shrinks when the model turns out to take less, and stays so."""

    @property
    def offered(self) -> bool:
        """Whether there is a model to ask, up or not."""
        return self._llms.offers(PURPOSE)

    async def write(
        self,
        content: str,
        spans: Sequence[Span],
        *,
        document_id: int | None = None,
        within_s: float | None = None,
        report: Report | None = None,
    ) -> Lines:
        """Lines for the chunks at ``spans`` of ``content``, in ``within_s`` seconds if given.

        What a language model does wrong is never raised: it is in the answer. ``document_id``
        is the stored document's, so that kept answers go with it.
        """
        work = _Work(content, spans, document_id, report)
        try:
            async with asyncio.timeout(within_s):
                await self._write(work)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        except TimeoutError:
            work.lines.error = DeadlineExceededError(
                f"{work.done} of {len(spans)} context lines were made in the {within_s:g} seconds "
                "that a request waits for them (LLM_CONTEXTUAL_BUDGET).",
                code="context_budget",
            )
        lines = work.lines
        if lines.error is not None:
            count_contexts("failed", lines.missing)
            _log.warning(
                "context_lines_missing",
                missing=lines.missing,
                chunks=len(spans),
                code=lines.error.code,
                reason=lines.error.message,
            )
        return lines

    async def _write(self, work: _Work) -> None:
        tokens = self._document_tokens
        while work.open and not work.stopped:
            missing = [work.spans[place] for place in work.open]
            found = await asyncio.to_thread(fronts, work.content, missing, tokens)
            questions = await self._questions(work, found)
            await self._recall(work, questions)
            made = work.made
            too_long = await self._ask_all(work, questions)
            if work.made > made:
                self._learn(tokens)
            if not too_long or tokens // 2 < LEAST_DOCUMENT_TOKENS:
                return
            work.lines.error = None
            tokens //= 2

    def _learn(self, tokens: int) -> None:
        """So much of a document the model has taken, where it had found more too long."""
        if tokens < self._document_tokens:
            self._document_tokens = tokens
            _log.warning("context_window_smaller", tokens=tokens)

    async def _questions(self, work: _Work, found: list[Front]) -> list[list[_Question]]:
        """By front, in the order of the chunks."""
        open_places = list(work.open)
        system = self._prompts.fill("concise")
        groups = []
        for front in found:
            places = [open_places[number] for number in front.chunks]
            groups.append(await asyncio.to_thread(self._group, work, system, front, places))
        return groups

    def _group(self, work: _Work, system: str, front: Front, places: list[int]) -> list[_Question]:
        """With a hash of all that the answer depends on."""
        start = blake2b(digest_size=_KEY_BYTES)
        for part in (PURPOSE, self._llms.model_name(PURPOSE), system):
            start.update(len(part.encode()).to_bytes(8, "big") + part.encode())
        questions = []
        for place in places:
            hasher = start.copy()
            hasher.update(self._prompt(front.text, work.chunk(place)).encode())
            questions.append(_Question(place, front.text, hasher.digest()))
        return questions

    def _prompt(self, document: str, chunk: str) -> str:
        return self._prompts.fill("contextual_retrieval", document=document, chunk=chunk)

    async def _recall(self, work: _Work, groups: list[list[_Question]]) -> None:
        """Take the lines that were made before."""
        if not self.rules.cached:
            return
        questions = [question for group in groups for question in group]
        async with self._database.read() as connection:
            kept = await store.read_answers(connection, [each.key for each in questions])
        for question in questions:
            if question.key in kept:
                work.put(question, str(kept[question.key]["line"]))
        work.lines.keys.extend(kept)
        count_contexts("cached", len(kept))

    async def _ask_all(self, work: _Work, groups: list[list[_Question]]) -> bool:
        """Ask what is still open; whether a question was too long, so that shorter ones may do.

        The first of a front goes alone: then the server has the front ready for the others.
        """
        for group in groups:
            left = [question for question in group if question.place in work.open]
            for questions in (left[:1], left[1:]):
                if work.stopped:
                    return False
                await self._ask_some(work, questions)
                if work.too_long:
                    work.too_long = False
                    return True
        return False

    async def _ask_some(self, work: _Work, questions: list[_Question]) -> None:
        """In order, as many at once as the purpose has places."""
        waiting = iter(questions)
        hands = min(len(questions), max(1, self._llms.concurrency(PURPOSE)))
        async with asyncio.TaskGroup() as group:
            for _ in range(hands):
                group.create_task(self._ask_on(work, waiting))

    async def _ask_on(self, work: _Work, waiting: Iterator[_Question]) -> None:
        for question in waiting:
            if work.stopped or work.too_long:
                return
            await self._ask(work, question)

    async def _ask(self, work: _Work, question: _Question) -> None:
        try:
            line = await self._line(question.front, work.chunk(question.place))
        except LlmInputTooLongError as error:
            work.fail(error)
            work.too_long = True
        except UpstreamError as error:
            work.fail(error)
            if error.code == "llm_refused":  # the next will be refused too
                work.stopped = True
            else:
                work.give_up(question)
        except RagBaseError as error:  # away: the next would find it so too
            work.fail(error)
            work.stopped = True
        else:
            work.made += 1
            work.put(question, line)
            count_contexts("made", 1)
            await self._keep(work, question, line)

    async def _line(self, document: str, chunk: str) -> str:
        answer = await self._llms.complete(
            self._prompts.fill("concise"), self._prompt(document, chunk), purpose=PURPOSE
        )
        line = clean_line(answer)
        if not line:
            raise UpstreamError(
                "The language model answered with nothing that can be read.",
                code="llm_unusable_answer",
            )
        return line

    async def _keep(self, work: _Work, question: _Question, line: str) -> None:
        if not self.rules.cached:
            return
        try:
            async with self._database.acquire() as connection:
                await store.keep_answer(
                    connection, question.key, PURPOSE, {"line": line}, work.document_id
                )
        except DatabaseUnavailableError as error:  # who stores the document will meet it too
            _log.warning("context_line_not_kept", code=error.code)
        else:
            work.lines.keys.append(question.key)


@dataclass(frozen=True, slots=True)
class _Question:
    place: int
    front: str
    key: bytes


class _Work:
    """The lines of one document under way."""

    def __init__(
        self, content: str, spans: Sequence[Span], document_id: int | None, report: Report | None
    ) -> None:
        self.content = content
        self.spans = spans
        self.document_id = document_id
        self.lines = Lines([None] * len(spans))
        self.open = dict.fromkeys(range(len(spans)))
        """Places to ask about, in order."""
        self.made = 0
        """Lines that the model wrote."""
        self.stopped = False
        self.too_long = False
        self._report = report

    @property
    def done(self) -> int:
        return len(self.spans) - self.lines.missing

    def chunk(self, place: int) -> str:
        span = self.spans[place]
        return self.content[span.start : span.end]

    def put(self, question: _Question, line: str) -> None:
        self.lines.lines[question.place] = line
        self.open.pop(question.place, None)
        if self._report is not None:
            self._report(self.done, len(self.spans))

    def give_up(self, question: _Question) -> None:
        self.open.pop(question.place, None)

    def fail(self, error: RagBaseError) -> None:
        if self.lines.error is None:
            self.lines.error = error
