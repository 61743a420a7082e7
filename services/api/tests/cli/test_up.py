"""`ragbase up` and `serve` as processes: what starts, what a signal ends, what stays."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ragbase.sdk import Client

pytestmark = pytest.mark.slow

START_S = 90.0


class Command:
    """A running ``ragbase``; its standard error is read in the background."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("RAGBASE_") and name != "DATABASE_URL"
        }
        program = "from ragbase.cli import main; main()"
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**kept, "COLUMNS": "200", **environment},
        )
        self.said = ""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said += line

    def wait_for(self, pattern: str) -> re.Match[str]:
        """The first match in what it has said; fails when it ends or takes too long."""
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if found := re.search(pattern, self.said):
                return found
            if self.process.poll() is not None and not self._reader.is_alive():
                break
            time.sleep(0.02)
        pytest.fail(f"no {pattern!r} in: {self.said}")

    def end(self, number: int = signal.SIGINT) -> int:
        """Its exit code after a signal."""
        self.process.send_signal(number)
        code = self.process.wait(START_S)
        self._reader.join()
        return code

    def postgres(self) -> list[psutil.Process]:
        """Postgres servers below it."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return [child for child in children if child.name() == "postgres"]


@contextmanager
def command(*arguments: str, **environment: str) -> Iterator[Command]:
    started = Command(*arguments, **environment)
    try:
        yield started
    finally:
        if started.process.poll() is None:
            started.process.kill()
            started.process.wait()
        if started.process.stderr is not None:
            started._reader.join()
            started.process.stderr.close()


@pytest.fixture
def home(state_dir: Path) -> Iterator[Path]:
    """A state folder that Postgres' user can reach when the tests run as root."""
    folder = state_dir / f"home-{time.monotonic_ns()}"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_state_survives_ctrl_c_and_a_second_start(home: Path) -> None:
    arguments = ("up", "--port", "0", "--home", str(home))
    with command(*arguments) as first:
        url = first.wait_for(r"runs at (http://127\.0\.0\.1:\d+)")[1]
        assert "Schema created (native)" in first.said
        with Client(url) as client:
            stored = client.documents.create("Harbour", "Ships moor at the north quay.")
            assert client.ready().status == "ready"
        servers = first.postgres()
        assert servers
        refused = Command(*arguments)
        assert refused.process.wait(START_S) == 2
        refused._reader.join()
        assert f"(process {first.process.pid}) uses the state folder {home}" in refused.said
        assert refused.process.stderr is not None
        refused.process.stderr.close()
        assert first.end(signal.SIGINT) == 0
        assert "Stopped" in first.said
        assert "Traceback" not in first.said
        assert not any(server.is_running() for server in servers)
    with command(*arguments) as second:
        url = second.wait_for(r"runs at (http://127\.0\.0\.1:\d+)")[1]
        assert "Schema is up to date" in second.said
        with Client(url) as client:
            assert [row.document_id for row in client.search("ships moor").results] == [stored.id]
        assert second.end(signal.SIGTERM) == 0


def test_ctrl_c_during_the_start_leaves_nothing_behind(home: Path) -> None:
    with command("up", "--port", "0", "--home", str(home)) as started:
        started.wait_for("Postgres runs")
        servers = started.postgres()
        assert started.end(signal.SIGINT) in (0, 130)
        assert "Traceback" not in started.said
        assert not any(server.is_running() for server in servers)


def test_serve_takes_the_database_of_the_settings(database_url: str) -> None:
    environment = {"DATABASE_URL": database_url, "RAGBASE_LOG_FORMAT": "json"}
    with command("serve", "--port", "0", **environment) as served:
        url = served.wait_for(r'"url": "(http://[^"]+)"')[1]
        with Client(url) as client:
            assert client.health().status == "ok"
        assert served.end(signal.SIGTERM) == 0


def test_serve_refuses_a_database_without_schema(empty_database_url: str) -> None:
    with command("serve", "--port", "0", DATABASE_URL=empty_database_url) as served:
        assert served.process.wait(START_S) == 2
        served._reader.join()
        assert "Run `ragbase migrate`" in served.said
        assert "Traceback" not in served.said


def test_serve_has_metrics_on_a_port_of_their_own(database_url: str) -> None:
    import socket

    import httpx

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    environment = {"DATABASE_URL": database_url, "RAGBASE_METRICS_PORT": str(port)}
    with command("serve", "--port", "0", RAGBASE_LOG_FORMAT="json", **environment) as served:
        url = served.wait_for(r'"url": "(http://[^"]+)"')[1]
        assert "ragbase_build_info" in httpx.get(f"http://127.0.0.1:{port}/metrics").text
        assert httpx.get(f"{url}/metrics").status_code == 404
        assert served.end(signal.SIGTERM) == 0
