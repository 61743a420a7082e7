"""The server as it runs, on a port of its own, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from ragbase_inference.backends.open import AnyModel
from ragbase_inference.server.run import bind, run_server
from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.serving.spec import ModelSpec


@dataclass(frozen=True)
class Live:
    """A running server."""

    url: str
    http: httpx.Client

    def post(self, path: str, body: Any = None, **options: Any) -> httpx.Response:
        return self.http.post(path, json=body, **options)

    def get(self, path: str) -> httpx.Response:
        return self.http.get(path)

    def metric(self, line: str) -> float:
        """Value of the sample that begins with ``line``."""
        for one in self.get("/metrics").text.splitlines():
            if one.startswith(line + " "):
                return float(one.rpartition(" ")[2])
        raise AssertionError(f"no metric {line}")


@contextmanager
def serving(settings: ServerSettings, open_spec: Callable[[ModelSpec], AnyModel]) -> Iterator[Live]:
    """Run until the block ends; then all requests have ended, and the thread has."""
    ready = threading.Event()
    servers: list[uvicorn.Server] = []

    def on_ready(server: uvicorn.Server) -> None:
        servers.append(server)
        ready.set()

    listener = bind("127.0.0.1", 0)
    thread = threading.Thread(target=run_server, args=(settings, listener, open_spec, on_ready))
    thread.start()
    try:
        assert ready.wait(60)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with httpx.Client(base_url=url, timeout=30) as http:
            yield Live(url, http)
    finally:
        for server in servers:
            server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Ask again until it is so: the other side of a connection sets no event here."""
    pause = threading.Event()
    for _ in range(int(seconds * 100)):
        if condition():
            return
        pause.wait(0.01)
    raise TimeoutError("it never became so")
