"""Liveness and metrics of a worker process, on a port of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ragbase.telemetry.metrics import REGISTRY

__all__ = ["SILENCE_MAX_S", "health_server"]

SILENCE_MAX_S = 120.0
"""A loop that has not come round for so long hangs: a claim that waits for a pool and then for a
statement takes a minute at worst."""


@contextmanager
def health_server(host: str, port: int, silence_s: Callable[[], float]) -> Iterator[int]:
    """Answer ``/health/live`` and ``/metrics``; yields the port.

    Served from a thread, so that a loop which is blocked is seen from outside. Alive is a loop
    whose ``silence_s`` is below `SILENCE_MAX_S`, whether the database answers or not.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            with suppress(ConnectionError):  # who has hung up wants no answer, and is no error
                self._answer()

        def _answer(self) -> None:
            if self.path == "/health/live":
                alive = silence_s() < SILENCE_MAX_S
                word = "ok" if alive else "the worker hangs"
                self._send(200 if alive else 503, f'{{"status":"{word}"}}'.encode())
            elif self.path == "/metrics":
                self._send(200, generate_latest(REGISTRY), CONTENT_TYPE_LATEST)
            else:
                self._send(404, b'{"detail":"Not Found","code":"not_found"}')

        def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            """Probes say nothing."""

    with ThreadingHTTPServer((host, port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
