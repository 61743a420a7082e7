"""Loads the models, opens the port, serves until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import uvicorn

from ragbase_inference.backends.open import AnyModel, open_model
from ragbase_inference.server.app import create_app
from ragbase_inference.server.call import BodyBounds
from ragbase_inference.server.metrics import ServerMetrics
from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.serving.models import ServedModels
from ragbase_inference.serving.spec import ModelSpec

__all__ = ["bind", "open_from", "run_server"]

KEEP_ALIVE_S = 75
"""Longer than the 60 s after which proxies drop idle connections: the one who reuses a connection
must be the first to give it up, or requests are lost in between."""

log = logging.getLogger(__name__)

OnReady: TypeAlias = Callable[[uvicorn.Server], None]


def _told(server: uvicorn.Server) -> None:
    """Says where the port is, once it is open."""
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    log.info("listening on %s port %d", host, port)


class _Server(uvicorn.Server):
    """A server whose signals are ours: uvicorn would raise them again, and the exit be no 0."""

    def __init__(self, config: uvicorn.Config, on_ready: OnReady) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready(self)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield  # signals are the main thread's
            return
        loop = asyncio.get_running_loop()
        numbers = (signal.SIGINT, signal.SIGTERM)
        for number in numbers:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)


def open_from(settings: ServerSettings) -> Callable[[ModelSpec], AnyModel]:
    """How a model of these settings is opened."""

    def open_spec(spec: ModelSpec) -> AnyModel:
        return open_model(
            spec.model,
            revision=spec.revision,
            backend=settings.backend,
            device=settings.device,
            dtype=settings.dtype,
            pooling=settings.pooling,
            threads=settings.threads,
            instruction=settings.instruction,
        )

    return open_spec


def bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: connections are refused until models are loaded.

    Raises `OSError`: a port in use is told before anything is loaded.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError:
        listener.close()
        raise
    return listener


def run_server(
    settings: ServerSettings,
    listener: socket.socket,
    open_spec: Callable[[ModelSpec], AnyModel],
    on_ready: OnReady = _told,
) -> None:
    """Load eager models, then serve on ``listener`` until SIGINT or SIGTERM.

    The listener closes at once then, and requests under way may finish. Loading happens before
    there is an event loop, so that a signal ends it. ``on_ready`` is called once requests are
    answered. Raises `ModelUnavailableError`, and `KeyboardInterrupt` for a signal during the load.
    """
    metrics = ServerMetrics()
    models = ServedModels(settings.specs, settings.serving, open_spec, metrics.of)
    with _ended_by_sigterm():
        models.preload()
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve(settings, listener, models, metrics, on_ready))


@contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """SIGTERM is a `KeyboardInterrupt`: the first process of a container has no other default."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


async def _serve(
    settings: ServerSettings,
    listener: socket.socket,
    models: ServedModels,
    metrics: ServerMetrics,
    on_ready: OnReady,
) -> None:
    app = create_app(
        models,
        metrics,
        api_key=settings.api_key.get_secret_value(),
        bounds=BodyBounds(settings.payload_limit, settings.body_timeout),
    )
    server = _Server(
        uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(settings.shutdown_grace),
            timeout_keep_alive=KEEP_ALIVE_S,
        ),
        on_ready,
    )
    await models.start()
    try:
        await server.serve(sockets=[listener])
    finally:
        await models.aclose()


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it exists (not on Windows)."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
