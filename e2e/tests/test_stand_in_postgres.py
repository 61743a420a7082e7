"""The entry point of the Postgres that stands in, on the programs of the same wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from e2e.cluster.daemon import free_port
from e2e.stand_ins.catalogue import FOLDER
from ragbase.embedded.binaries import locate_binaries

ENTRY_POINT = FOLDER / "postgres" / "entrypoint.sh"
NOBODY = 65_534
PASSWORD = "it's a $secret"


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """What a pod gives the container, with a data folder of its own, below a short path."""
    folder = Path(tempfile.mkdtemp(prefix="stand-in-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    bin_folder = locate_binaries().program("psql").parent
    yield {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PGDATA": str(folder / "18" / "docker"),
        "PGHOST": str(folder),
        "PGPORT": str(free_port()),
        "POSTGRES_USER": "ragbase",
        "POSTGRES_PASSWORD": PASSWORD,
        "POSTGRES_DB": "docs",
        "HOME": str(folder),
    }
    shutil.rmtree(folder)


def as_user() -> dict[str, int]:
    return {"user": NOBODY, "group": NOBODY} if os.geteuid() == 0 else {}


@contextmanager
def running(environment: dict[str, str], *more: str) -> Iterator[None]:
    """The container's process until it is told to end, as the image's STOPSIGNAL does."""
    sockets = f"unix_socket_directories={environment['PGHOST']}"
    arguments = ["postgres", "-c", sockets, "-c", f"port={environment['PGPORT']}", *more]
    process = subprocess.Popen([str(ENTRY_POINT), *arguments], env=environment, **as_user())  # type: ignore[call-overload]
    try:
        end = time.monotonic() + 120
        while query(environment, "SELECT 1") != "1":
            assert process.poll() is None, "it ended"
            assert time.monotonic() < end, "it does not answer"
            time.sleep(0.2)
        yield
    finally:
        process.send_signal(2)
        assert process.wait(60) == 0


def query(environment: dict[str, str], sql: str, password: str = PASSWORD) -> str:
    """What one statement answers over TCP; "" where the server refuses us."""
    asked = {**environment, "PGHOST": "127.0.0.1", "PGPASSWORD": password}
    command = ["psql", "-qXtA", "-U", "ragbase", "-d", "docs", "-c", sql]
    done = subprocess.run(command, env=asked, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def test_it_honours_what_the_official_image_does(environment: dict[str, str]) -> None:
    with running(environment, "-c", "max_connections=17", "-c", "shared_buffers=16MB"):
        assert query(environment, "SHOW max_connections") == "17"
        assert query(environment, "SHOW shared_buffers") == "16MB"
        assert query(environment, "SELECT current_user, current_database()") == "ragbase|docs"
        assert query(environment, "SELECT rolsuper FROM pg_roles WHERE rolname='ragbase'") == "t"
        assert query(environment, "SELECT 1", password="wrong") == ""
        query(environment, "CREATE EXTENSION vector; CREATE TABLE kept AS SELECT 42 AS n")
    with running(environment | {"POSTGRES_PASSWORD": "another"}, "-c", "max_connections=18"):
        assert query(environment, "SHOW max_connections") == "18"
        assert query(environment, "SELECT n FROM kept") == "42"


def test_a_first_start_needs_a_password(environment: dict[str, str]) -> None:
    given = environment | {"POSTGRES_PASSWORD": ""}
    command = [str(ENTRY_POINT), "postgres"]
    done = subprocess.run(
        command, env=given, capture_output=True, text=True, check=False, **as_user()
    )  # type: ignore[call-overload]
    assert done.returncode != 0
    assert "POSTGRES_PASSWORD" in done.stderr
    assert not Path(given["PGDATA"]).exists()


def test_other_commands_are_run_as_they_are(environment: dict[str, str]) -> None:
    done = subprocess.run(
        [str(ENTRY_POINT), "echo", "hello"], env=environment, capture_output=True, check=True
    )
    assert done.stdout == b"hello\n"
