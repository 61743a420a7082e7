"""One named model: loaded when needed, unloaded when idle, with a bound on what may wait."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Literal, TypeAlias

from ragbase_inference.backends.open import AnyModel
from ragbase_inference.daemon_thread import in_daemon_thread
from ragbase_inference.errors import ModelUnavailableError, QueueFullError
from ragbase_inference.kinds import ModelFacts
from ragbase_inference.registry import ModelRegistry
from ragbase_inference.serving.observer import Observer
from ragbase_inference.serving.running import RunningModel
from ragbase_inference.serving.spec import ModelSpec, ServingOptions

__all__ = ["ServedModel", "State"]

State: TypeAlias = Literal["unloaded", "loading", "loaded", "unloading"]

log = logging.getLogger(__name__)


class ServedModel:
    """Used from one event loop. Whoever works with the model holds `admitted` or `in_use`."""

    def __init__(
        self,
        spec: ModelSpec,
        options: ServingOptions,
        registry: ModelRegistry[AnyModel],
        observer: Observer,
        tokenizing: Executor,
    ) -> None:
        self.spec = spec
        self.options = options
        self.facts: ModelFacts | None = None
        """Known from the first load on, also while unloaded."""
        self.state: State = "unloaded"
        self._registry = registry
        self._observer = observer
        self._tokenizing = tokenizing
        self._running: RunningModel | None = None
        self._changing = asyncio.Lock()
        self._users = 0
        self._permits = options.max_concurrent_requests
        self._idle: asyncio.TimerHandle | None = None
        self._loading: asyncio.Task[RunningModel] | None = None
        self._unloading: asyncio.Task[bool] | None = None

    @contextmanager
    def admitted(self, inputs: int) -> Iterator[None]:
        """Hold a permit for each input; `QueueFullError` at once where there are too few."""
        if inputs > self._permits:
            raise QueueFullError("too many inputs are being worked on already")
        self._permits -= inputs
        try:
            with self.in_use():
                yield
        finally:
            self._permits += inputs

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Keep the model from being unloaded."""
        self._users += 1
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        try:
            yield
        finally:
            self._users -= 1
            self._unload_later()

    async def running(self) -> RunningModel:
        """The model, loaded now if need be; callers at once load it once.

        A load goes on when its callers have gone: the model is then in memory, and idle. Raises
        `ModelUnavailableError`, `ClosedError`. A load that failed is tried again by the next call.
        """
        if self._running is not None:
            return self._running
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load())
        return await asyncio.shield(self._loading)

    async def _load(self) -> RunningModel:
        async with self._changing:
            self.state = "loading"
            try:
                model = await in_daemon_thread(lambda: self._registry.get(self.spec.name))
            except BaseException as error:
                self.state = "unloaded"
                if isinstance(error, ModelUnavailableError):
                    log.warning("%s cannot be loaded: %s", self.spec.name, error)
                raise
            self.state = "loaded"
            self.facts = model.facts
            self._running = RunningModel(model, self.options, self._observer, self._tokenizing)
            self._unload_later()  # an eager model may never see a request
            return self._running

    def _unload_later(self) -> None:
        after = self.options.idle_unload_s
        if after is not None and self._users == 0 and self._running is not None:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(after, self._start_unload)

    def _start_unload(self) -> None:
        self._unloading = asyncio.get_running_loop().create_task(self.unload())

    async def unload(self) -> bool:
        """Give the model's memory back, unless somebody uses it; whether that was done."""
        async with self._changing:
            if self._users or self._running is None:
                return False
            running, self._running = self._running, None
            self.state = "unloading"
            try:
                await running.aclose()
                await asyncio.to_thread(self._registry.unload, self.spec.name)
            finally:
                self.state = "unloaded"
            log.info("unloaded %s, which was idle", self.spec.name)
            return True

    def memory_bytes(self) -> int:
        """Memory that the model holds now, an estimate."""
        return 0 if self._running is None else self._running.model.memory_bytes()

    @property
    def waiting(self) -> int:
        """Inputs that wait for a batch."""
        return 0 if self._running is None else self._running.waiting

    @property
    def in_flight(self) -> int:
        """Permits taken."""
        return self.options.max_concurrent_requests - self._permits

    def is_healthy(self) -> bool:
        """Whether the model answers, as far as is known; never waits. Not loaded is healthy."""
        return self._running is None or self._running.is_healthy()

    async def aclose(self) -> None:
        """Fail what waits, let the running batch end."""
        if self._idle is not None:
            self._idle.cancel()
        if self._loading is not None:
            self._loading.cancel()
        async with self._changing:
            if self._running is not None:
                await self._running.aclose()
                self._running = None
                self.state = "unloaded"
