"""Background probes of every dependency, and the reports made from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ragbase import __version__
from ragbase.errors import RagBaseError
from ragbase.models.health import Health, ModelsHealth, Readiness
from ragbase.services.background import end
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.telemetry.logs import get_logger
from ragbase.telemetry.metrics import set_dependency

__all__ = ["HealthService", "Probe"]

Probe = Callable[[], Awaitable[None]]
"""Returns when the dependency answers; raises `RagBaseError` when it does not."""

_EVERY_S = 10.0
_EVERY_DOWN_S = 2.0
"""A dependency that is down is asked more often, so that its return shows soon."""
_PROBE_TIMEOUT_S = 5.0


@dataclass(slots=True)
class _State:
    up: bool | None = None
    reason: str = field(default="not probed yet")


class HealthService:
    """Knows which dependencies answer; asks them in the background, never on a probe's path.

    Readiness is the exception: it asks Postgres each time, because traffic depends on it.
    """

    def __init__(
        self,
        probes: Mapping[str, Probe],
        embedding: EmbeddingRuntime,
        *,
        schema: Probe,
        lexical: str,
    ) -> None:
        self._probes = dict(probes)
        self._embedding = embedding
        self._schema = schema
        self._schema_fits = False
        self._lexical = lexical
        self._states = {name: _State() for name in probes}
        self.leaving = False
        self._tasks: list[asyncio.Task[None]] = []
        self._log = get_logger("ragbase.health")

    async def start(self) -> None:
        """Probe everything once, then keep probing."""
        await asyncio.gather(*(self._probe(name) for name in self._probes))
        self._tasks = [asyncio.create_task(self._watch(name)) for name in self._probes]

    async def stop(self) -> None:
        """End the probes."""
        await end(self._tasks)

    def leave(self) -> None:
        """Not ready from now on: the process is about to end."""
        self.leaving = True

    async def _watch(self, name: str) -> None:
        while True:
            await asyncio.sleep(_EVERY_S if self._states[name].up else _EVERY_DOWN_S)
            await self._probe(name)

    async def _probe(self, name: str) -> None:
        state = self._states[name]
        was = state.up
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_S):
                await self._probes[name]()
            state.up, state.reason = True, ""
        except RagBaseError as error:
            state.up, state.reason = False, error.message
        except TimeoutError:
            state.up, state.reason = False, f"no answer in {_PROBE_TIMEOUT_S:g} s"
        set_dependency(name, up=state.up)
        if was is not None and was != state.up:
            self._log.warning("dependency_changed", dependency=name, up=state.up)

    def report(self) -> Health:
        """The contract's shape, from the last probes."""
        down = [name for name, state in self._states.items() if not state.up]
        return Health(
            status="degraded" if down else "ok",
            postgres=self._word("postgres", "connected"),
            embedding=self._word("embedding", "healthy"),
            reranker=self._word("reranker", "healthy"),
            memgraph=self._word("memgraph", "connected"),
            version=__version__,
            lexical=self._lexical,
        )

    def _word(self, name: str, good: str) -> str:
        state = self._states.get(name)
        if state is None:
            return "disabled"
        return good if state.up else f"error: {state.reason}"

    async def readiness(self) -> Readiness:
        """Ready when Postgres answers, the schema fits and the embedder was reached once."""
        if self.leaving:
            return Readiness(status="not_ready", reason="The server is shutting down.")
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_S):
                await self._probes["postgres"]()
                if not self._schema_fits:
                    await self._schema()
                    self._schema_fits = True
        except RagBaseError as error:
            return Readiness(status="not_ready", reason=error.message)
        except TimeoutError:
            return Readiness(status="not_ready", reason="Postgres does not answer in time.")
        if not self._embedding.ready:
            return Readiness(status="not_ready", reason=self._embedding.missing)
        return Readiness(status="ready")

    async def models(self) -> ModelsHealth:
        """What is known of the models; None where one has not answered yet."""
        disabled: Literal["disabled"] = "disabled"
        if not self._embedding.ready:
            return ModelsHealth(embedding=None, reranker=disabled)
        info = self._embedding.info
        return ModelsHealth(
            embedding={
                "model_id": info.model,
                "dimensions": info.dimension,
                "max_input_length": info.max_tokens,
            },
            reranker=disabled,
        )
