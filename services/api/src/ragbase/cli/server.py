"""Runs the APIs in this process until a signal ends them."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import uvicorn

from ragbase.main import create_app
from ragbase.main_localrag import create_localrag_app
from ragbase.telemetry.metrics import REGISTRY

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ragbase.settings import Settings

__all__ = ["loop_factory", "run_api", "run_localrag"]

_Part: TypeAlias = "tuple[FastAPI, socket.socket]"
"""An app, and where it listens."""

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


def run_api(
    settings: Settings,
    listener: socket.socket,
    on_ready: Callable[[], None],
    *,
    localrag: socket.socket | None = None,
) -> None:
    """Serve on ``listener`` until SIGINT or SIGTERM; on ``localrag`` the second API, too.

    The first signal makes us not ready and, after the time to drain, ends the taking of requests;
    those under way may finish. A second one does not drain, a third one does not wait.

    ``on_ready`` is called once requests are answered. What the start raises passes through; a
    signal during the start is a `KeyboardInterrupt`.
    """
    parts: list[_Part] = [(create_app(settings, localrag=localrag is not None), listener)]
    if localrag is not None:
        parts.append((create_localrag_app(settings), localrag))
    _run(settings, parts, on_ready)


def run_localrag(settings: Settings, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve the second API alone. See `run_api`."""
    _run(settings, [(create_localrag_app(settings), listener)], on_ready)


def _run(settings: Settings, parts: list[_Part], on_ready: Callable[[], None]) -> None:
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)  # its news are ours to tell
    try:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(_serve(settings, parts, on_ready))
    except asyncio.CancelledError:  # a signal during the start
        raise KeyboardInterrupt from None


async def _serve(settings: Settings, parts: list[_Part], on_ready: Callable[[], None]) -> None:
    """All apps in this loop, over the services that the first one opens."""
    main = parts[0][0]
    servers: list[_Server] = []

    def ready() -> None:
        if all(server.started for server in servers):
            on_ready()

    def leave() -> None:
        main.state.services.health.leave()

    servers += [_server(app, settings, ready) for app, _ in parts]
    with _signals(servers, leave, settings.shutdown_drain_s), _metrics_server(settings):
        async with main.router.lifespan_context(main):
            for app, _ in parts[1:]:
                app.state.services = main.state.services
            async with asyncio.TaskGroup() as group:
                for server, (_, listener) in zip(servers, parts, strict=True):
                    group.create_task(server.serve(sockets=[listener]))


def _server(app: FastAPI, settings: Settings, on_ready: Callable[[], None]) -> _Server:
    config = uvicorn.Config(
        app,
        lifespan="off",  # entered by us, so that its errors reach our caller as they are
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_s),
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    return _Server(config, on_ready)


@contextmanager
def _signals(
    servers: Sequence[_Server], leave: Callable[[], None], drain_s: float
) -> Iterator[None]:
    """Before requests are served a signal cancels the start, later it asks for a clean end."""
    loop = asyncio.get_running_loop()
    starting = asyncio.current_task()
    draining: list[asyncio.TimerHandle] = []

    def end(number: int) -> None:
        for server in servers:
            server.handle_exit(number, None)

    def stop(number: int) -> None:
        if starting is not None and not all(server.started for server in servers):
            starting.cancel()
            return
        leave()
        if not draining and drain_s > 0:
            draining.append(loop.call_later(drain_s, end, number))
        else:
            end(number)

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
