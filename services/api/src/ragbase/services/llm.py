"""The language models in use: one a purpose, each with its budget, its places and its circuit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from time import perf_counter

from ragbase.clients.llm import JsonSchema, Message, Purpose
from ragbase.clients.llm_remote import LlmInfo, RemoteLlm
from ragbase.clients.llm_request import Question, Usage
from ragbase.clients.permits import Permits
from ragbase.errors import (
    DeadlineExceededError,
    LlmInputTooLongError,
    LlmUnavailableError,
    UpstreamError,
)
from ragbase.services.circuit import Circuit
from ragbase.telemetry.metrics import count_llm_request, count_llm_tokens

__all__ = ["LanguageModels", "LlmServer", "PurposeModel"]

MISSING = "No language model is configured on this server; set LLM_BASE_URL."
CHARACTERS_A_TOKEN = 4
"""Where the server counts no tokens; about right for English."""

_OF_THE_ANSWER = ("llm_unusable_answer", "llm_rejected")
"""The server is well; it is this question that goes wrong."""


class LlmServer:
    """One model at one server, for the purposes that share it; ``name`` as health calls it."""

    def __init__(self, name: str, client: RemoteLlm) -> None:
        self.name = name
        self.client = client
        self.circuits: list[Circuit] = []

    @property
    def info(self) -> LlmInfo:
        """Model and protocol, as known by now."""
        return self.client.info

    async def probe(self) -> None:
        """Raise where it cannot be used; let one question through where it answers again.

        A probe costs no tokens, so it proves little; the question that is let through decides.
        """
        due = [circuit for circuit in self.circuits if circuit.probe_due]
        try:
            await self.client.ping()
        except asyncio.CancelledError:
            _tell(due, LlmUnavailableError("It does not answer in time."))
            raise
        except Exception as error:
            _tell(due, error)
            raise
        _tell(due, None)
        if still := [circuit for circuit in self.circuits if circuit.is_open]:
            raise _left_alone(still[0])


def _tell(circuits: list[Circuit], error: Exception | None) -> None:
    for circuit in circuits:
        circuit.probed(error)


class PurposeModel:
    """The model as one purpose uses it.

    ``timeout_s`` bounds a completion with its retries, ``concurrency`` how many run at once,
    ``characters`` and ``max_output_tokens`` the answer; ``partial``: one that ends there will do.
    """

    def __init__(
        self,
        purpose: Purpose,
        server: LlmServer,
        *,
        timeout_s: float,
        concurrency: int,
        characters: int,
        max_output_tokens: int | None = None,
        thinking: bool = False,
        temperature: float | None = None,
        partial: bool = False,
    ) -> None:
        self.purpose = purpose
        self.server = server
        self.timeout_s = timeout_s
        self.concurrency = concurrency
        self.circuit = Circuit()
        self._characters = characters
        self._max_output_tokens = max_output_tokens
        self._thinking = thinking
        self._temperature = temperature
        self._partial = partial
        self._places = Permits(concurrency)
        server.circuits.append(self.circuit)

    async def complete(
        self,
        system: str,
        prompt: str,
        *,
        schema: JsonSchema | None = None,
        history: Sequence[Message] = (),
        within_s: float | None = None,
    ) -> str:
        """See `ragbase.clients.llm.Complete.complete`."""
        question = Question(
            prompt,
            system,
            tuple(history),
            schema,
            self._characters,
            self._max_output_tokens,
            self._thinking,
            self._temperature,
            self._partial,
        )
        with self._counted():
            self._check_open()
            loop = asyncio.get_running_loop()
            until = None if within_s is None else loop.time() + within_s
            async with self._place(within_s):
                self._check_open()  # it may have failed while we waited
                left = self.timeout_s if until is None else until - loop.time()
                return await self._ask(question, min(left, self.timeout_s))

    @asynccontextmanager
    async def _place(self, within_s: float | None) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(within_s):
                    await stack.enter_async_context(self._places.take(1))
            except TimeoutError:
                raise DeadlineExceededError(
                    f"The language model had no place free within {within_s:.3g} seconds.",
                    code="llm_timeout",
                ) from None
            yield

    def _check_open(self) -> None:
        if not self.circuit.admits:
            raise _left_alone(self.circuit)

    async def _ask(self, question: Question, within_s: float) -> str:
        fault: UpstreamError | None = None
        with self.circuit.attempt():
            try:
                return await self.server.client.complete(
                    question,
                    within_s=within_s,
                    spent=lambda usage, text: self._count(question, usage, text),
                )
            except UpstreamError as error:
                if error.code not in _OF_THE_ANSWER:
                    raise
                fault = error
        assert fault is not None
        raise fault

    def _count(self, question: Question, usage: Usage | None, text: str) -> None:
        if usage is None:
            given = sum(len(each["content"]) for each in question.messages())
            usage = Usage(given // CHARACTERS_A_TOKEN, len(text) // CHARACTERS_A_TOKEN)
        count_llm_tokens(self.purpose, given=usage.input, made=usage.output, cached=usage.cached)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        started, outcome = perf_counter(), "error"
        try:
            yield
            outcome = "ok"
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        except Exception as error:
            outcome = _outcome(error)
            raise
        finally:
            count_llm_request(self.purpose, outcome, perf_counter() - started)


class LanguageModels:
    """Implements `ragbase.clients.llm.Complete`; a purpose without a model has none to ask."""

    def __init__(self, models: Mapping[Purpose, PurposeModel] | None = None) -> None:
        self._models = dict(models or {})

    @property
    def servers(self) -> dict[str, LlmServer]:
        """Each server once, by name."""
        return {each.server.name: each.server for each in self._models.values()}

    def offers(self, purpose: Purpose) -> bool:
        """Whether a model is configured for it, up or not."""
        return purpose in self._models

    def concurrency(self, purpose: Purpose) -> int:
        """Completions of this purpose that run at once; 0 without a model."""
        return self._models[purpose].concurrency if purpose in self._models else 0

    def model_name(self, purpose: Purpose) -> str:
        """Name of the purpose's model, as known by now; "" without one."""
        return self._models[purpose].server.info.model if purpose in self._models else ""

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
        """See `ragbase.clients.llm.Complete.complete`."""
        model = self._models.get(purpose)
        if model is None:
            raise LlmUnavailableError(MISSING, code="llm_missing")
        return await model.complete(
            system, prompt, schema=schema, history=history, within_s=within_s
        )

    async def aclose(self) -> None:
        """Release all clients."""
        await asyncio.gather(*(each.client.aclose() for each in self.servers.values()))


def _left_alone(circuit: Circuit) -> LlmUnavailableError:
    return LlmUnavailableError(
        f"The language model failed repeatedly and is not asked until it is well again. "
        f"{circuit.reason}",
        code="llm_left_alone",
    )


def _outcome(error: Exception) -> str:
    if isinstance(error, DeadlineExceededError):
        return "timeout"
    if isinstance(error, LlmInputTooLongError):
        return "too_long"
    if isinstance(error, LlmUnavailableError):
        known = {"llm_rate_limited": "rate_limited", "llm_left_alone": "skipped"}
        return known.get(error.code, "unavailable")
    if isinstance(error, UpstreamError):
        return "unusable" if error.code == "llm_unusable_answer" else "refused"
    return "error"
