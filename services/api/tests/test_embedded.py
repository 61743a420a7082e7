"""The embedded Postgres: private, restartable, and never outliving the process that owns it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import asyncpg
import psutil
import pytest

from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres, kept_running
from ragbase.errors import ConfigurationError

from .ask import ask

OWNER = """
import signal, sys, time
from pathlib import Path
from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
signal.signal(signal.SIGINT, lambda *_: print("interrupted", flush=True))
server = EmbeddedPostgres(Path(sys.argv[1]), settings=FAST_SETTINGS)
print(server.start(), flush=True)
time.sleep(60)
"""
"""A program that owns a server, and survives Ctrl-C as an API that is still finishing does."""


@pytest.fixture(scope="module")
def data_dir(state_dir: Path) -> Path:
    """A cluster that the tests of this file start and stop in turn."""
    folder = state_dir / "embedded" / "postgres"
    with EmbeddedPostgres(folder, settings=FAST_SETTINGS):
        return folder


@pytest.fixture
def server(data_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A running server on `data_dir`."""
    with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS) as running:
        yield running


@pytest.fixture
def owner(data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that owns the server of `data_dir`, in a process group of its own."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(data_dir)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def postmaster_pid(data_dir: Path) -> int:
    """Process id of the server that runs on ``data_dir``."""
    return int((data_dir / "postmaster.pid").read_text().split()[0])


def eventually(condition: Callable[[], bool], within_s: float = 20.0) -> bool:
    """Whether the condition comes true in time."""
    deadline = time.monotonic() + within_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def test_data_survives_a_restart_that_is_quick(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        ask(server.dsn, "CREATE TABLE IF NOT EXISTS kept AS SELECT 42 AS number")
    started = time.monotonic()
    with EmbeddedPostgres(data_dir) as server:
        warm_s = time.monotonic() - started
        assert ask(server.dsn, "SELECT number FROM kept") == 42
    assert warm_s < 5  # a fifth of a second on an idle machine


def test_it_speaks_utf8_and_has_pgvector(server: EmbeddedPostgres) -> None:
    assert ask(server.dsn, "SELECT getdatabaseencoding()") == "UTF8"
    assert ask(server.dsn, "SELECT lower('ÄÇĞ漢')") == "äçğ漢"
    available = "SELECT count(*) FROM pg_available_extensions WHERE name = 'vector'"
    assert ask(server.dsn, available) == 1


def test_it_listens_on_a_private_socket_only(server: EmbeddedPostgres) -> None:
    assert ask(server.dsn, "SHOW listen_addresses") == ""
    folder = Path(str(ask(server.dsn, "SHOW unix_socket_directories")))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(os.fsencode(folder / ".s.PGSQL.5432")) < 104
    kinds = {c.family for c in psutil.Process(postmaster_pid(server.data_dir)).net_connections()}
    assert not kinds


def test_the_socket_folder_goes_when_the_server_stops(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS) as server:
        folder = Path(str(ask(server.dsn, "SHOW unix_socket_directories")))
        assert folder.is_dir()
    assert not folder.exists()


def test_durable_by_default_and_settings_win(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir) as server:
        assert ask(server.dsn, "SHOW fsync") == "on"
        assert ask(server.dsn, "SHOW synchronous_commit") == "on"
        assert ask(server.dsn, "SHOW jit") == "off"
    with EmbeddedPostgres(data_dir, settings={"work_mem": "5MB", "jit": "on"}) as server:
        assert ask(server.dsn, "SHOW work_mem") == "5MB"
        assert ask(server.dsn, "SHOW jit") == "on"


def test_a_bad_setting_is_told_in_the_servers_words(data_dir: Path) -> None:
    with pytest.raises(ConfigurationError, match="shared_buffers"):
        EmbeddedPostgres(data_dir, settings={"shared_buffers": "plenty"}).start()


def test_tcp_asks_for_the_generated_password(state_dir: Path) -> None:
    folder = state_dir / "tcp" / "postgres"
    with EmbeddedPostgres(folder, settings=FAST_SETTINGS, tcp=True) as server:
        assert ask(server.dsn, "SELECT 1") == 1
        assert ask(server.dsn, "SHOW listen_addresses") == "127.0.0.1"
        password = (state_dir / "tcp" / "postgres.password").read_text()
        assert (state_dir / "tcp" / "postgres.password").stat().st_mode & 0o777 == 0o600
        with pytest.raises(asyncpg.InvalidPasswordError):
            ask(server.dsn.replace(password, "guessed"), "SELECT 1")


def test_a_second_owner_is_refused(server: EmbeddedPostgres) -> None:
    with pytest.raises(ConfigurationError, match=f"process {os.getpid()}.*RAGBASE_HOME"):
        EmbeddedPostgres(server.data_dir).start()
    assert ask(server.dsn, "SELECT 1") == 1


def test_start_and_stop_may_be_repeated(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir, settings=FAST_SETTINGS)
    first = server.start()
    assert server.start() == first
    server.stop()
    server.stop()
    assert server.start() == first  # a pool that was open finds it again
    assert ask(first, "SELECT 1") == 1
    server.stop()


def test_a_server_that_was_killed_can_be_started_again(data_dir: Path) -> None:
    with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS) as server:
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        assert eventually(lambda: not server.running)
        assert ask(server.start(), "SELECT 1") == 1


def test_a_backend_that_outlives_its_killed_server_does_not_stop_the_next(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir, settings=FAST_SETTINGS, stop_timeout_s=0.5)

    async def busy_until_killed(dsn: str) -> None:
        connection = await asyncpg.connect(dsn)
        work = asyncio.create_task(
            connection.fetchval("SELECT count(*) FROM generate_series(1, 1000000000) a")
        )
        await asyncio.sleep(0.3)
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        while server.running:  # noqa: ASYNC110 - another process's end sets no event
            await asyncio.sleep(0.01)
        assert not work.done()
        server.start()
        with pytest.raises((asyncpg.PostgresError, ConnectionError, asyncpg.InterfaceError)):
            await work

    with server:
        asyncio.run(busy_until_killed(server.dsn))
        assert ask(server.dsn, "SELECT 1") == 1


def test_a_server_that_is_watched_comes_back_at_its_address(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir, settings=FAST_SETTINGS)
    dsn = server.start()
    told: list[str] = []
    with kept_running(server, on_restart=lambda: told.append("again"), check_every_s=0.05):
        os.kill(postmaster_pid(data_dir), signal.SIGKILL)
        assert eventually(lambda: told == ["again"])
        assert ask(dsn, "SELECT 1") == 1
    server.stop()
    time.sleep(0.2)
    assert not server.running


def test_a_server_that_cannot_come_back_is_told_and_tried_again(data_dir: Path) -> None:
    server = EmbeddedPostgres(data_dir, settings=FAST_SETTINGS)
    server.start()
    told: list[str] = []
    version = data_dir / "PG_VERSION"
    real = version.read_text()

    def mended(error: ConfigurationError) -> None:
        told.append(str(error))
        version.write_text(real)

    try:
        with kept_running(
            server,
            on_restart=lambda: told.append("again"),
            on_failure=mended,
            check_every_s=0.05,
            retry_after_s=0.05,
        ):
            version.write_text("9")
            os.kill(postmaster_pid(data_dir), signal.SIGKILL)
            assert eventually(lambda: "again" in told)
    finally:
        server.stop()
        version.write_text(real)
    assert len(told) == 2


def test_data_of_another_major_version_is_refused(data_dir: Path) -> None:
    version = data_dir / "PG_VERSION"
    real = version.read_text()
    version.write_text("16\n")
    try:
        with pytest.raises(ConfigurationError, match=r"Postgres 16.*ragbase backup"):
            EmbeddedPostgres(data_dir).start()
    finally:
        version.write_text(real)


def test_a_folder_with_other_things_in_it_is_refused(state_dir: Path) -> None:
    folder = state_dir / "other"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    with pytest.raises(ConfigurationError, match="holds no Postgres data"):
        EmbeddedPostgres(folder).start()
    assert (folder / "thesis.txt").read_text() == "precious"


def test_an_interrupted_first_start_is_made_good(state_dir: Path) -> None:
    half = state_dir / "interrupted" / "postgres.new"
    half.mkdir(parents=True)
    (half / "PG_VERSION").write_text("18\n")
    with EmbeddedPostgres(state_dir / "interrupted" / "postgres", settings=FAST_SETTINGS) as server:
        assert ask(server.dsn, "SELECT 1") == 1
    assert not half.exists()


def test_a_missing_wheel_is_explained(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"ragbase\[embedded\].*DATABASE_URL"):
        EmbeddedPostgres(data_dir).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as somebody else")
def test_root_is_told_which_folder_is_closed_and_nothing_is_opened(state_dir: Path) -> None:
    closed = state_dir / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ConfigurationError, match=rf"{closed} is closed.*DATABASE_URL"):
        EmbeddedPostgres(closed / "below" / "postgres").start()
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as somebody else")
def test_root_runs_the_server_as_an_unprivileged_user(server: EmbeddedPostgres) -> None:
    process = psutil.Process(postmaster_pid(server.data_dir))
    assert process.uids().effective != 0
    assert process.uids().effective == server.data_dir.stat().st_uid


def test_ctrl_c_reaches_the_owner_but_not_the_server(
    owner: subprocess.Popen[str], data_dir: Path
) -> None:
    assert owner.stdout is not None
    dsn = owner.stdout.readline().strip()
    os.killpg(owner.pid, signal.SIGINT)
    assert owner.stdout.readline().strip() == "interrupted"
    time.sleep(0.3)
    assert ask(dsn, "SELECT 1") == 1


def test_the_server_does_not_outlive_an_owner_that_was_killed(
    owner: subprocess.Popen[str], data_dir: Path
) -> None:
    assert owner.stdout is not None
    owner.stdout.readline()
    pid = postmaster_pid(data_dir)
    folder = Path((data_dir / "postmaster.pid").read_text().splitlines()[4])
    owner.kill()
    assert eventually(lambda: not psutil.pid_exists(pid))
    assert eventually(lambda: not folder.exists())
    with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS) as server:
        assert ask(server.dsn, "SELECT 1") == 1


def test_a_server_that_was_left_over_is_stopped_by_the_next_start(
    owner: subprocess.Popen[str], data_dir: Path
) -> None:
    assert owner.stdout is not None
    owner.stdout.readline()
    left = psutil.Process(postmaster_pid(data_dir))
    supervisor = left.parent()
    assert supervisor is not None
    watcher = next(child for child in supervisor.children() if child.pid != left.pid)
    for process in (supervisor, watcher, psutil.Process(owner.pid)):
        process.kill()
    assert left.is_running()
    with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS) as server:
        assert ask(server.dsn, "SELECT 1") == 1
        assert not left.is_running()
        assert postmaster_pid(data_dir) != left.pid


def test_a_stale_pid_file_that_names_a_stranger_harms_nobody(data_dir: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (data_dir / "postmaster.pid").write_text(f"{stranger.pid}\n{data_dir}\n1\n5432\n/nowhere\n")
        try:
            with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS) as server:
                assert ask(server.dsn, "SELECT 1") == 1
            assert stranger.poll() is None
        finally:
            stranger.kill()
