"""The port of a worker's probes and metrics."""

from __future__ import annotations

import socket
import struct
import threading
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from ragbase.worker import health


def test_a_caller_that_hangs_up_is_no_error(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A scrape that took too long: no traceback, which would be no line of a structured log."""
    gone, ended = threading.Event(), threading.Event()
    close = ThreadingHTTPServer.shutdown_request

    def late(_: Any) -> bytes:
        assert gone.wait(10)
        return b"x" * 1_000_000

    def shutdown_request(server: ThreadingHTTPServer, request: Any) -> None:
        close(server, request)
        ended.set()

    monkeypatch.setattr(health, "generate_latest", late)
    monkeypatch.setattr(ThreadingHTTPServer, "shutdown_request", shutdown_request)
    with health.health_server("127.0.0.1", 0, lambda: 0.0) as port:
        caller = socket.create_connection(("127.0.0.1", port))
        caller.sendall(b"GET /metrics HTTP/1.1\r\nHost: worker\r\n\r\n")
        reset = struct.pack("ii", 1, 0)  # close by a reset, at once
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        caller.close()
        gone.set()
        assert ended.wait(10)
    assert capfd.readouterr().err == ""
