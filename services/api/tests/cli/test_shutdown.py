"""A stopping server finishes what it accepted, and says early that it is leaving."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from ..model_server import Stub, running
from .test_up import command

pytestmark = pytest.mark.slow

DOCUMENT = {"title": "Harbour", "content": "Ships moor at the north quay."}


@pytest.fixture
def model() -> Iterator[Stub]:
    with running(Stub(max_tokens=64)) as stub:
        yield stub


def wait_until_busy(model: Stub) -> None:
    while model.in_flight == 0:
        time.sleep(0.01)


def wait_until_refused(url: str) -> None:
    with suppress(httpx.ConnectError):
        while True:
            httpx.get(url)
            time.sleep(0.05)


def test_a_request_under_way_is_finished_after_the_signal(database_url: str, model: Stub) -> None:
    settings = {
        "DATABASE_URL": database_url,
        "EMBEDDING_URL": model.url,
        "RAGBASE_LOG_FORMAT": "json",
        "RAGBASE_SHUTDOWN_DRAIN": "1.5",
    }
    with command("serve", "--port", "0", **settings) as served, ThreadPoolExecutor(1) as caller:
        url = served.wait_for(r'"url": "(http://[^"]+)"')[1]
        ready = f"{url}/health/ready"
        while httpx.get(ready).status_code != 200:
            time.sleep(0.05)
        model.held = True
        answer = caller.submit(httpx.post, f"{url}/v1/documents", json=DOCUMENT, timeout=60)
        wait_until_busy(model)
        served.process.send_signal(signal.SIGTERM)
        while (state := httpx.get(ready)).status_code == 200:
            time.sleep(0.01)
        assert state.json()["reason"] == "The server is shutting down."
        # Callers that have not heard of it yet are still answered.
        assert httpx.get(f"{url}/v1/documents").status_code == 200
        wait_until_refused(ready)
        model.held = False
        assert answer.result().status_code == 201
        assert served.process.wait(30) == 0


def test_what_does_not_finish_in_time_is_cut(database_url: str, model: Stub) -> None:
    settings = {
        "DATABASE_URL": database_url,
        "EMBEDDING_URL": model.url,
        "RAGBASE_LOG_FORMAT": "json",
        "RAGBASE_SHUTDOWN_GRACE": "1",
    }
    with command("serve", "--port", "0", **settings) as served, ThreadPoolExecutor(1) as caller:
        url = served.wait_for(r'"url": "(http://[^"]+)"')[1]
        while httpx.get(f"{url}/health/ready").status_code != 200:
            time.sleep(0.05)
        model.held = True
        answer = caller.submit(httpx.post, f"{url}/v1/documents", json=DOCUMENT, timeout=60)
        wait_until_busy(model)
        assert served.end(signal.SIGTERM) == 0
        assert "Traceback" not in served.said, served.said
        model.held = False
        with suppress(httpx.TransportError):  # closed without an answer is as good
            assert answer.result().status_code >= 500
