"""One configured reranker: its name, its time budget, its stand-in, and whether it is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from ragbase.clients.lazy_reranker import LazyReranker
from ragbase.clients.reranker import Reranker, RerankerInfo, checked_scores
from ragbase.errors import (
    DeadlineExceededError,
    InvalidInputError,
    RagBaseError,
    RerankerUnavailableError,
)
from ragbase.services.circuit import Circuit
from ragbase.telemetry.metrics import count_reranked

__all__ = ["NamedReranker"]


class NamedReranker:
    """A reranker as requests know it.

    ``timeout_s`` bounds all calls for one ranking; ``fallback`` names the reranker that stands in
    when this one fails. ``on_demand``: nobody configured it; it is out of use until its model is
    loaded, which a request that asks for reranking begins.
    """

    def __init__(
        self,
        name: str,
        client: Reranker,
        *,
        timeout_s: float,
        fallback: str | None = None,
        on_demand: bool = False,
    ) -> None:
        self.name = name
        self.client = client
        self.timeout_s = timeout_s
        self.fallback = fallback
        self.circuit = Circuit()
        self.info: RerankerInfo | None = None
        """Facts as last told; None before the first contact."""
        self.changed: Callable[[], None] = lambda: None
        """Called when it has come into use, or is left alone from now on."""
        self._on_demand = on_demand
        self.circuit.opened = self._changed
        if isinstance(client, LazyReranker):
            client.loaded = self._changed

    def _changed(self) -> None:
        self.changed()

    @property
    def in_use(self) -> bool:
        """Whether searches use it unasked."""
        return not self._on_demand or (isinstance(self.client, LazyReranker) and self.client.ready)

    def wake(self) -> str:
        """Begin to load what is loaded on demand; why it cannot be used yet, for people."""
        assert isinstance(self.client, LazyReranker)
        self.client.start()
        return self.client.state

    async def score(self, query: str, texts: Sequence[str], *, within_s: float) -> list[float]:
        """As `Reranker.score`, in at most ``within_s`` seconds and never more than ``timeout_s``.

        Raises `RerankerUnavailableError` at once while the circuit is open, and
        `DeadlineExceededError` when the time is up.
        """
        with self._counted():
            if not self.circuit.admits:
                raise self._left_alone()
            with self.circuit.attempt():
                return await self._score(query, texts, min(within_s, self.timeout_s))

    async def _score(self, query: str, texts: Sequence[str], limit_s: float) -> list[float]:
        try:
            async with asyncio.timeout(limit_s):
                scores = await self.client.score(query, texts)
        except TimeoutError:
            raise DeadlineExceededError(
                f"The reranker {self.name} did not answer within {limit_s:.3g} seconds.",
                code="rerank_timeout",
            ) from None
        return checked_scores(scores, len(texts), f"reranker {self.name}")

    @contextmanager
    def _counted(self) -> Iterator[None]:
        outcome = "error"
        try:
            yield
            outcome = "ok"
        except DeadlineExceededError:
            outcome = "timeout"
            raise
        except InvalidInputError:
            outcome = "refused"
            raise
        except RerankerUnavailableError as error:
            outcome = "skipped" if error.code == "reranker_left_alone" else "unavailable"
            raise
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            count_reranked(self.name, outcome)

    async def model(self) -> str:
        """The model's name, as its server reports it; ``unknown`` where it cannot be had."""
        try:
            return (await self.client.info()).model
        except RagBaseError:
            return "unknown"

    async def probe(self) -> bool:
        """Whether it is in use; raises where it is and cannot answer. Mends an open circuit.

        While the circuit is open a ping proves nothing: a server may be alive and every score of
        its be nonsense. So one pair is scored, and that only when it is due.
        """
        if not self.in_use:
            return False
        if self.circuit.probe_due:
            await self._look_again()
        if self.circuit.is_open:
            raise self._left_alone()
        await self.client.ping()
        self.info = await self.client.info()
        return True

    async def _look_again(self) -> None:
        try:
            scores = await self.client.score("probe", ["probe"])
            checked_scores(scores, 1, f"reranker {self.name}")
        except asyncio.CancelledError:  # by the prober's time-out
            self.circuit.probed(RerankerUnavailableError("It does not answer in time."))
            raise
        except Exception as error:
            self.circuit.probed(error)
            raise
        self.circuit.probed(None)

    def _left_alone(self) -> RerankerUnavailableError:
        return RerankerUnavailableError(
            f"It failed repeatedly and is not asked until it is well again. {self.circuit.reason}",
            code="reranker_left_alone",
        )

    async def aclose(self) -> None:
        """Release its client."""
        await self.client.aclose()
