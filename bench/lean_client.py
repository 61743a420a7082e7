"""HTTP clients that cost next to nothing: what they take of the cores, the server lacks."""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

__all__ = ["LeanClient", "ask_all", "request_bytes"]


def request_bytes(path: str, body: Any) -> bytes:
    """A whole POST request."""
    content = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\n"
        f"content-length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


class LeanClient:
    """One keep-alive connection; bodies come ready-made and answers are not parsed."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self.socket = socket.create_connection((address.hostname or "", address.port or 0))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = bytearray()
        self.sent = 0.0

    def send(self, request: bytes) -> None:
        """Send one request; the answer to the one before has been read."""
        self.sent = time.perf_counter()
        self._buffer.clear()
        self.socket.sendall(request)

    def receive(self) -> int | None:
        """Read what is there; the status once the answer is whole."""
        chunk = self.socket.recv(1 << 20)
        if not chunk:
            raise ConnectionError("the server closed the connection")
        self._buffer += chunk
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return None
        at = self._buffer.find(b"content-length: ") + len(b"content-length: ")
        length = int(self._buffer[at : self._buffer.index(b"\r", at)])
        return int(self._buffer[9:12]) if len(self._buffer) >= head + 4 + length else None

    def ask(self, request: bytes) -> tuple[int, float, float]:
        """Status, seconds, and this thread's own CPU seconds, of one request."""
        cpu, started = time.thread_time(), time.perf_counter()
        self.send(request)
        status = None
        while status is None:
            status = self.receive()
        return status, time.perf_counter() - started, time.thread_time() - cpu

    def close(self) -> None:
        self.socket.close()


def ask_all(
    clients: Sequence[LeanClient], requests: Sequence[bytes], seconds: float
) -> tuple[dict[int, int], list[float], float]:
    """All ``clients`` ask without pause for ``seconds``, from one thread.

    Gives answers by status, the seconds of each, and the wall time until the last answer.
    """
    statuses: dict[int, int] = {}
    times: list[float] = []
    poll = select.epoll()
    by_file = {client.socket.fileno(): client for client in clients}
    for number, client in enumerate(clients):
        poll.register(client.socket.fileno(), select.EPOLLIN)
        client.send(requests[number % len(requests)])
    turn, waiting = len(clients), len(clients)
    started = time.perf_counter()
    end = started + seconds
    while waiting:
        for file, _ in poll.poll():
            client = by_file[file]
            status = client.receive()
            if status is None:
                continue
            now = time.perf_counter()
            statuses[status] = statuses.get(status, 0) + 1
            times.append(now - client.sent)
            if now < end:
                client.send(requests[turn % len(requests)])
                turn += 1
            else:
                waiting -= 1
    poll.close()
    return statuses, times, time.perf_counter() - started
