"""Start, find and stop the embedded Postgres."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

import asyncpg

from ragbase.embedded import cluster, process
from ragbase.embedded.account import Account, check_reach, may_reach, service_account
from ragbase.embedded.binaries import Binaries, locate_binaries
from ragbase.embedded.ownership import SOCKET_PREFIX, FolderLock, stop_leftover
from ragbase.errors import ConfigurationError

__all__ = ["FAST_SETTINGS", "EmbeddedPostgres"]

SOCKET_PORT = 5432
SOCKET_PATH_BYTES = 103
"""Longest socket path that works everywhere: sun_path is 104 bytes on macOS, 108 on Linux."""
LOG_BYTES_KEPT = 8 * 1024 * 1024

DEFAULT_SETTINGS: Mapping[str, str] = MappingProxyType(
    {
        "shared_buffers": "256MB",
        "effective_cache_size": "1GB",
        "work_mem": "32MB",
        "maintenance_work_mem": "256MB",
        "max_connections": "50",
        "max_wal_size": "2GB",
        "random_page_cost": "1.1",
        "jit": "off",
        # Parallel workers share memory under /dev/shm, which containers keep at 64 MB.
        "max_parallel_workers_per_gather": "0",
        "max_parallel_maintenance_workers": "0",
        "max_wal_senders": "0",
        "wal_level": "minimal",
        "log_line_prefix": "%m [%p] ",
        "timezone": "UTC",
    }
)
FAST_SETTINGS: Mapping[str, str] = MappingProxyType(
    {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
)
"""For throw-away data only: a crash of the machine loses it."""


class EmbeddedPostgres:
    """A Postgres server that belongs to this process.

    ``start`` and ``stop`` block (call them from a worker thread in async code); both may be
    called again. ``data_dir`` is made if absent; its lock, log and - on TCP only - password lie
    beside it under its own name. ``settings`` are Postgres settings that win over ours.
    ``tcp`` listens on 127.0.0.1 with a generated password instead of a private unix socket; it
    is what happens anyway where there are no unix sockets.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        settings: Mapping[str, str] = MappingProxyType({}),
        tcp: bool = not hasattr(socket, "AF_UNIX"),
        start_timeout_s: float = 60.0,
        stop_timeout_s: float = 30.0,
    ) -> None:
        self.data_dir = data_dir.absolute()
        self.settings = {**DEFAULT_SETTINGS, **settings}
        self.tcp = tcp
        self.start_timeout_s = start_timeout_s
        self.stop_timeout_s = stop_timeout_s
        self.log_file = self.data_dir.with_name(self.data_dir.name + ".log")
        self._lock = FolderLock(self.data_dir)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket_dir: Path | None = None
        self._port = 0 if tcp else SOCKET_PORT

    @property
    def running(self) -> bool:
        """Whether the server process lives."""
        return self._process is not None and self._process.poll() is None

    @property
    def dsn(self) -> str:
        """URL of the database ``ragbase``, as superuser."""
        return self.database_dsn(cluster.DATABASE)

    def database_dsn(self, database: str) -> str:
        """URL of another database of this server."""
        return cluster.address(self.data_dir, self._socket_dir, self._port, database)

    def program(self, name: str) -> Path:
        """Path of a client program of the same version: ``psql``, ``pg_dump``, ``pg_restore``."""
        return locate_binaries().program(name)

    def start(self) -> str:
        """Start the server and return its `dsn`; returns once a connection has been made.

        Raises `ConfigurationError` when it cannot: the message says what to do.
        """
        if self.running:
            return self.dsn
        self.stop()  # clears up after a server that died under us
        try:
            self.data_dir.parent.mkdir(parents=True, exist_ok=True)
            self._lock.acquire()
            self._launch()
            self._wait_ready()
        except OSError as error:
            self.stop()
            raise ConfigurationError(
                f"Cannot start Postgres in {self.data_dir}: {error}"
            ) from error
        except BaseException:
            self.stop()
            raise
        return self.dsn

    def stop(self) -> None:
        """Stop the server: clients are disconnected, data is flushed."""
        if self._process is not None:
            if not process.stop(self._process, self.stop_timeout_s):
                stop_leftover(self.data_dir, self.stop_timeout_s)
                self._process.wait()
            self._process = None
        if self._socket_dir is not None:
            shutil.rmtree(self._socket_dir, ignore_errors=True)
        self._lock.release()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _launch(self) -> None:
        binaries = locate_binaries()
        account = service_account(self.data_dir)
        check_reach(account, binaries.program("postgres"), "the Postgres program")
        check_reach(account, self.data_dir, "its data folder")
        self._prepare_folder(binaries, account)
        self._listen(account)
        _shorten(self.log_file)
        self._process = process.spawn(
            binaries.program("postgres"),
            ["-D", str(self.data_dir), *self._options()],
            account,
            _environment(),
            self.log_file,
            self._socket_dir,
        )

    def _prepare_folder(self, binaries: Binaries, account: Account) -> None:
        major = binaries.major(account)
        if cluster.is_initialised(self.data_dir):
            cluster.check_version(self.data_dir, major)
            stop_leftover(self.data_dir, self.stop_timeout_s)
        else:
            sync = self.settings.get("fsync") != "off"
            cluster.initialise(self.data_dir, binaries, account, password=self.tcp, sync=sync)

    def _listen(self, account: Account) -> None:
        """Choose the address; a second start takes the first one's, so pools find it again."""
        if self.tcp:
            self._port = self._port or _free_port()
        elif self._socket_dir is None:
            self._socket_dir = _socket_folder(account)
        else:
            self._socket_dir.mkdir(mode=0o700)
            account.give(self._socket_dir)

    def _options(self) -> list[str]:
        listening = {
            "listen_addresses": "127.0.0.1" if self.tcp else "",
            "port": str(self._port),
            "unix_socket_directories": str(self._socket_dir or ""),
            "unix_socket_permissions": "0700",
        }
        return [f"--{name}={value}" for name, value in {**self.settings, **listening}.items()]

    def _wait_ready(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        with ThreadPoolExecutor(1) as worker:  # our caller's thread may already run a loop
            while not worker.submit(asyncio.run, self._answers()).result():
                if not self.running:
                    raise ConfigurationError(f"Postgres did not start: {self._last_words()}")
                if time.monotonic() > deadline:
                    raise ConfigurationError(
                        f"Postgres did not become ready within {self.start_timeout_s:g} s: "
                        f"{self._last_words()}"
                    )
                time.sleep(0.02)

    async def _answers(self) -> bool:
        """Whether the server takes connections; makes the database if it is new."""
        try:
            connection = await asyncpg.connect(self.database_dsn("postgres"), timeout=10)
        except (OSError, asyncpg.CannotConnectNowError, TimeoutError):
            return False
        try:
            if not await connection.fetchval(
                "SELECT true FROM pg_database WHERE datname = $1", cluster.DATABASE
            ):
                await connection.execute(f"CREATE DATABASE {cluster.DATABASE}")
        finally:
            await connection.close()
        return True

    def _last_words(self) -> str:
        try:
            lines = self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            lines = []
        return " | ".join(lines[-5:]) or f"nothing in {self.log_file}"


def _socket_folder(account: Account) -> Path:
    """A private folder for the socket: its path short, its parents open to the server's user."""
    tail = len(f"/{SOCKET_PREFIX}xxxxxxxx/.s.PGSQL.{SOCKET_PORT}.lock")
    places = [Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp")]  # noqa: S108 - mkdtemp
    short = [place for place in places if len(os.fsencode(place)) + tail <= SOCKET_PATH_BYTES]
    parent = next((place for place in short if may_reach(account, place / "socket")), short[-1])
    folder = Path(tempfile.mkdtemp(prefix=SOCKET_PREFIX, dir=parent))
    account.give(folder)
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _environment() -> dict[str, str]:
    """Ours without ``PG*`` (it would redirect the server's programs) and without a locale."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**kept, "LC_ALL": "C"}


def _shorten(log: Path) -> None:
    """Keep the log from growing for ever: past its limit it becomes ``*.log.1``."""
    if log.exists() and log.stat().st_size > LOG_BYTES_KEPT:
        log.replace(log.with_name(log.name + ".1"))
