"""Runs the API in this process until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from ragbase.main import create_app
from ragbase.telemetry.metrics import REGISTRY

if TYPE_CHECKING:
    from ragbase.settings import Settings

__all__ = ["loop_factory", "run_api"]

KEEP_ALIVE_S = 75
"""Longer than the 60 s after which proxies drop idle connections: the one who reuses a connection
must be the first to give it up, or requests are lost in between."""


class _Server(uvicorn.Server):
    """A server whose signals are ours: uvicorn raises them again, which would cut the clean-up."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._on_ready()


def run_api(settings: Settings, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve on ``listener`` until SIGINT or SIGTERM.

    The first signal makes us not ready and, after the time to drain, ends the taking of requests;
    those under way may finish. A second one does not drain, a third one does not wait.

    ``on_ready`` is called once requests are answered. What the start raises passes through; a
    signal during the start is a `KeyboardInterrupt`.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # its news are ours to tell
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(settings, listener, on_ready))
    except asyncio.CancelledError:  # a signal during the start
        raise KeyboardInterrupt from None


async def _serve(settings: Settings, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    app = create_app(settings)
    server = _Server(
        uvicorn.Config(
            app,
            lifespan="off",  # entered here, so that its errors reach our caller as they are
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_s),
            timeout_keep_alive=KEEP_ALIVE_S,
        ),
        on_ready,
    )

    def leave() -> None:
        app.state.services.health.leave()

    with _signals(server, leave, settings.shutdown_drain_s), _metrics_server(settings):
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[listener])


@contextmanager
def _signals(server: _Server, leave: Callable[[], None], drain_s: float) -> Iterator[None]:
    """Before requests are served a signal cancels the start, later it asks for a clean end."""
    loop = asyncio.get_running_loop()
    starting = asyncio.current_task()
    draining: list[asyncio.TimerHandle] = []

    def stop(number: int) -> None:
        if not server.started and starting is not None:
            starting.cancel()
            return
        leave()
        if not draining and drain_s > 0:
            draining.append(loop.call_later(drain_s, server.handle_exit, number, None))
        else:
            server.handle_exit(number, None)

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
        for timer in draining:
            timer.cancel()
        for number in numbers:
            loop.remove_signal_handler(number)


@contextmanager
def _metrics_server(settings: Settings) -> Iterator[None]:
    """``/metrics`` on a port of its own, where one is set."""
    if settings.metrics_port is None:
        yield
        return
    from prometheus_client import start_http_server

    server, thread = start_http_server(settings.metrics_port, addr=settings.host, registry=REGISTRY)
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it exists (not on Windows)."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
