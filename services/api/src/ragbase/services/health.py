"""Background probes of every dependency, and the reports made from them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ragbase import __version__
from ragbase.errors import RagBaseError
from ragbase.models.health import Health, ModelsHealth, Readiness
from ragbase.services.background import end
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.llm import LlmServer
from ragbase.services.named_reranker import NamedReranker
from ragbase.telemetry.logs import get_logger
from ragbase.telemetry.metrics import set_dependency

__all__ = ["HealthService", "Probe"]

Probe = Callable[[], Awaitable[bool | None]]
"""Returns when the dependency answers; raises `RagBaseError` when it does not. False: not in use."""

_EVERY_S = 10.0
_EVERY_DOWN_S = 2.0
"""A dependency that is down is asked more often, so that its return shows soon."""
_PROBE_TIMEOUT_S = 5.0


@dataclass(slots=True)
class _State:
    up: bool | None = None
    in_use: bool = True
    reason: str = "not probed yet"
    http_status: int | None = None
    """What its server answered, where that is what is wrong."""
    soon: asyncio.Event = field(default_factory=asyncio.Event)
    """Set to be probed without waiting for the next turn."""

    def well(self, *, in_use: bool) -> None:
        self.up, self.in_use, self.reason, self.http_status = True, in_use, "", None

    def down(self, reason: str, http_status: int | None = None) -> None:
        self.up, self.in_use, self.reason, self.http_status = False, True, reason, http_status


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
        rerankers: Mapping[str, NamedReranker] | None = None,
        llms: Mapping[str, LlmServer] | None = None,
    ) -> None:
        self._rerankers = dict(rerankers or {})
        self._llms = dict(llms or {})
        named = {_part(name): each.probe for name, each in self._rerankers.items()}
        asked = {name: each.probe for name, each in self._llms.items()}
        self._probes: dict[str, Probe] = {**probes, **named, **asked}
        self._embedding = embedding
        self._schema = schema
        self._schema_fits = False
        self._lexical = lexical
        self._states = {name: _State() for name in self._probes}
        for name, each in self._rerankers.items():
            each.changed = self._states[_part(name)].soon.set
        for name, server in self._llms.items():
            for circuit in server.circuits:
                circuit.opened = self._states[name].soon.set
        self.leaving = False
        self._tasks: list[asyncio.Task[None]] = []
        self._log = get_logger("ragbase.health")

    async def start(self) -> None:
        """Probe everything once, then keep probing; no start waits for a language model."""
        await asyncio.gather(
            *(self._probe(name) for name in self._probes if name not in self._llms)
        )
        for name in self._llms:
            self._states[name].soon.set()
        self._tasks = [asyncio.create_task(self._watch(name)) for name in self._probes]

    async def stop(self) -> None:
        """End the probes."""
        await end(self._tasks)

    def look_soon(self, name: str) -> None:
        """Probe a part without waiting for its turn: somebody saw it fail."""
        self._states[name].soon.set()

    def leave(self) -> None:
        """Not ready from now on: the process is about to end."""
        self.leaving = True

    async def _watch(self, name: str) -> None:
        state = self._states[name]
        while True:
            down = state.in_use and not state.up
            with suppress(TimeoutError):
                async with asyncio.timeout(_EVERY_DOWN_S if down else _EVERY_S):
                    await state.soon.wait()
            state.soon.clear()
            await self._probe(name)

    async def _probe(self, name: str) -> None:
        state = self._states[name]
        was = state.up
        try:
            async with asyncio.timeout(_PROBE_TIMEOUT_S):
                in_use = await self._probes[name]() is not False
            state.well(in_use=in_use)
        except RagBaseError as error:
            state.down(error.message, getattr(error, "http_status", None))
        except TimeoutError:
            state.down(f"no answer in {_PROBE_TIMEOUT_S:g} s")
        except Exception as error:  # noqa: BLE001 - a probe that ended would never heal anything
            state.down("see the server's log")
            self._log.error("probe_broke", dependency=name, exc_info=error)
        if not state.in_use:
            return
        set_dependency(name, up=bool(state.up))
        if was is not None and was != state.up:
            self._log.warning("dependency_changed", dependency=name, up=state.up)

    def report(self) -> Health:
        """The contract's shape, from the last probes."""
        down = [name for name, state in self._states.items() if state.in_use and not state.up]
        return Health(
            status="degraded" if down else "ok",
            postgres=self._word("postgres", "connected"),
            embedding=self._word("embedding", "healthy"),
            reranker=self._word(_part("default"), "healthy"),
            rerankers={
                name: self._word(_part(name), "healthy")
                for name, each in self._rerankers.items()
                if each.in_use
            },
            llm=self._llm_word(),
            llms={name: self._word(name, "healthy") for name in self._llms},
            memgraph=self._word("memgraph", "connected"),
            version=__version__,
            lexical=self._lexical,
        )

    def _llm_word(self) -> str:
        """Of several the first that is not well."""
        words = [self._word(name, "healthy") for name in self._llms]
        return next(
            (word for word in words if word != "healthy"), "healthy" if words else "disabled"
        )

    def _word(self, name: str, good: str) -> str:
        state = self._states.get(name)
        if state is None or not state.in_use:
            return "disabled"
        if state.http_status is not None:
            return f"status {state.http_status}"
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
        rerankers = {
            name: self._facts(name, each) for name, each in self._rerankers.items() if each.in_use
        }
        found = ModelsHealth(
            embedding=None,
            reranker=rerankers.get("default", "disabled"),
            rerankers=rerankers,
            llms={name: self._llm_facts(name, each) for name, each in self._llms.items()},
        )
        if not self._embedding.ready:
            return found
        info = self._embedding.info
        return found.model_copy(
            update={
                "embedding": {
                    "model_id": info.model,
                    "dimensions": info.dimension,
                    "max_input_length": info.max_tokens,
                }
            }
        )

    def _facts(self, name: str, reranker: NamedReranker) -> dict[str, Any] | None:
        if reranker.info is None or not self._states[_part(name)].up:
            return None
        return {
            "model_id": reranker.info.model,
            "max_input_length": reranker.info.max_tokens,
            "timeout_s": reranker.timeout_s,
            "fallback": reranker.fallback,
        }

    def _llm_facts(self, name: str, server: LlmServer) -> dict[str, Any] | None:
        if not self._states[name].up:
            return None
        return {"model_id": server.info.model, "api": server.info.api}


def _part(reranker: str) -> str:
    """What a reranker is called among the dependencies."""
    return f"reranker-{reranker}"
