"""Runs the API in this process until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
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

__all__ = ["run_api"]

KEEP_ALIVE_S = 75
"""Longer than the 60 s after which proxies drop idle connections: the one who reuses a connection
must be the first to give it up, or requests are lost in between."""
GRACE_S = 10
"""Requests under way get this long to finish after the first signal."""


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
    """Serve on ``listener`` until SIGINT or SIGTERM; a second one does not wait for requests.

    ``on_ready`` is called once requests are answered. What the start raises passes through; a
    signal during the start is a `KeyboardInterrupt`.
    """
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # its news are ours to tell
    try:
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
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
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=KEEP_ALIVE_S,
        ),
        on_ready,
    )
    with _signals(server), _metrics_server(settings):
        async with app.router.lifespan_context(app):
            await server.serve(sockets=[listener])


@contextmanager
def _signals(server: _Server) -> Iterator[None]:
    """Before requests are served a signal cancels the start, later it asks for a clean end."""
    loop = asyncio.get_running_loop()
    starting = asyncio.current_task()

    def stop(number: int) -> None:
        if server.started or starting is None:
            server.handle_exit(number, None)
        else:
            starting.cancel()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, stop, number)
    try:
        yield
    finally:
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


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it exists (not on Windows)."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
