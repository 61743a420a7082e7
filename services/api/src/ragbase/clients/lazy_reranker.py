"""A reranker whose model is loaded when it is first needed, in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic

from ragbase.clients.reranker import Reranker, RerankerInfo
from ragbase.errors import ConfigurationError, RerankerUnavailableError
from ragbase.telemetry.logs import get_logger

__all__ = ["LazyReranker"]

WAIT_S = 3.0
"""A model from the disk is there by then; one that is fetched takes minutes, which nobody waits."""
AGAIN_S = 30.0
"""After a load that failed: a network may be back, a folder be filled."""

_log = get_logger("ragbase.reranker")


class LazyReranker:
    """A `Reranker` around ``load``, which may take minutes and raises `ConfigurationError`.

    The first call begins to load; calls wait a moment for it, then say that it is under way.
    A load that failed is tried again, at most every ``again_s`` seconds. ``loaded`` is called when
    the model is there.
    """

    def __init__(
        self,
        model: str,
        load: Callable[[], Awaitable[Reranker]],
        *,
        wait_s: float = WAIT_S,
        again_s: float = AGAIN_S,
    ) -> None:
        self.model = model
        self._load = load
        self._wait_s = wait_s
        self._again_s = again_s
        self.loaded: Callable[[], None] = lambda: None
        self._loaded: Reranker | None = None
        self._loading: asyncio.Task[None] | None = None
        self._failure: str = ""
        self._not_before = 0.0

    @property
    def ready(self) -> bool:
        """Whether the model is in memory."""
        return self._loaded is not None

    @property
    def state(self) -> str:
        """Why it is not ready, for people."""
        return self._failure or f"{self.model} is being loaded."

    def start(self) -> None:
        """Begin to load, unless that is done, under way, or failed a moment ago."""
        self._begin(None)

    def start_if(self, at_hand: Callable[[], Awaitable[bool]]) -> None:
        """The same, but load only if ``at_hand`` says so."""
        self._begin(at_hand)

    def _begin(self, at_hand: Callable[[], Awaitable[bool]] | None) -> None:
        if self._loaded is None and self._loading is None and monotonic() >= self._not_before:
            self._loading = asyncio.create_task(self._run(at_hand))

    async def _run(self, at_hand: Callable[[], Awaitable[bool]] | None) -> None:
        try:
            if at_hand is not None and not await at_hand():
                return
            self._loaded = await self._load()
            self._failure = ""
            self.loaded()
            _log.info("reranker_ready", model=self.model)
        except ConfigurationError as error:
            self._failed(error.message)
        except Exception as error:  # noqa: BLE001 - told in the log and to callers, tried again
            self._failed(f"{self.model} could not be loaded; see the server's log.", error)
        finally:
            self._loading = None

    def _failed(self, reason: str, bug: Exception | None = None) -> None:
        self._failure = reason
        self._not_before = monotonic() + self._again_s
        _log.warning("reranker_not_ready", model=self.model, reason=reason, exc_info=bug)

    async def wait(self) -> None:
        """Return when what is under way has ended, well or not."""
        if self._loading is not None:
            await asyncio.wait([self._loading])

    async def _get(self) -> Reranker:
        self.start()
        if self._loading is not None:
            await asyncio.wait([self._loading], timeout=self._wait_s)
        if self._loaded is None:
            raise RerankerUnavailableError(self.state)
        return self._loaded

    async def info(self) -> RerankerInfo:
        """Facts about the model, once it is loaded."""
        return await (await self._get()).info()

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """See `Reranker.score`."""
        return await (await self._get()).score(query, texts)

    async def ping(self) -> None:
        """Return when the model is loaded and answers."""
        await (await self._get()).ping()

    async def aclose(self) -> None:
        """Stop loading; release the model."""
        if self._loading is not None:
            self._loading.cancel()
            await asyncio.wait([self._loading])
        if self._loaded is not None:
            await self._loaded.aclose()
