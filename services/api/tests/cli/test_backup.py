"""`ragbase backup`, `backups` and `restore` as commands: exit codes, words, passwords, signals."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ragbase.cli.app import app
from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.embedded.binaries import locate_binaries
from ragbase.storage.migrations import migrate

from ..ask import ask

PROGRAMS = locate_binaries().program("pg_dump").parent
ADD = "INSERT INTO documents (title, content) VALUES ('kept', 'text') RETURNING id"
COUNT = "SELECT count(*) FROM documents"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Runs a command with settings, as environment variables."""

    def run(*arguments: object, **environment: str) -> Result:
        monkeypatch.delenv("DATABASE_URL", raising=False)
        words = [str(argument) for argument in arguments]
        return CliRunner().invoke(app, words, env={"COLUMNS": "300", **environment})

    return run


@pytest.fixture
def slow_programs(tmp_path: Path) -> Path:
    """Programs of which pg_dump tells its arguments and its process, and then hangs."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for real in PROGRAMS.iterdir():
        (programs / real.name).symlink_to(real)
    (programs / "pg_dump").unlink()
    (programs / "pg_dump").write_text(
        f"#!/bin/sh\n[ $1 = --version ] && exec {PROGRAMS}/pg_dump $1\n"
        f'echo $$ "$@" > {tmp_path}/begun; exec sleep 60\n'
    )
    (programs / "pg_dump").chmod(0o755)
    return programs


def test_from_one_database_into_another(
    run: Any, folder: Path, database_url: str, empty_database_url: str
) -> None:
    ask(database_url, ADD)
    made = run("backup", folder, "--json", DATABASE_URL=database_url)
    assert made.exit_code == 0, made.output
    said = json.loads(made.stdout)
    assert (said["documents"], said["ok"], said["removed"]) == (1, True, [])
    assert said["bytes"] > 1000
    assert said["seconds"] > 0

    restored = run("restore", folder, "--json", DATABASE_URL=empty_database_url)
    assert restored.exit_code == 0, restored.output
    said = json.loads(restored.stdout)
    assert (said["documents"], said["checksums_compared"], said["healed"]) == (1, True, [])
    assert ask(empty_database_url, COUNT) == 1

    again = run("restore", folder, DATABASE_URL=empty_database_url)
    assert again.exit_code == 1
    assert "not empty: " in again.stderr
    assert "public.documents (1 rows)" in again.stderr
    assert ask(empty_database_url, COUNT) == 1


def test_listing_retention_and_verification(run: Any, folder: Path, database_url: str) -> None:
    settings = {"DATABASE_URL": database_url, "RAGBASE_BACKUP_DIR": str(folder)}
    for _ in range(2):
        assert run("backup", **settings).exit_code == 0
    third = run("backup", "--keep", "2", **settings)
    assert "Removed" in third.stdout
    listed = run("backups", "--json", **settings)
    assert [entry["ok"] for entry in json.loads(listed.stdout)] == [True, True]
    assert run("backups", "--verify", **settings).stdout.count("verified") == 2

    newest = max(path for path in folder.iterdir() if path.is_dir())
    with (newest / "database.dump").open("r+b") as dump:
        dump.seek(100)
        dump.write(b"\0\0\0\0")
    found = run("backups", "--verify", **settings)
    assert found.exit_code == 1
    assert "SHA-256" in found.stdout


def test_what_is_missing_is_told(run: Any, folder: Path, tmp_path: Path) -> None:
    assert (no_folder := run("backup")).exit_code == 2
    assert "RAGBASE_BACKUP_DIR" in no_folder.stderr
    assert (no_home := run("backup", folder, "--home", tmp_path / "none")).exit_code == 2
    assert "does not exist" in no_home.stderr
    assert not folder.exists()
    both = run("backup", folder, "--home", tmp_path, DATABASE_URL="postgresql://a/b")
    assert both.exit_code == 2
    assert "two different databases" in both.stderr
    assert (nothing := run("restore", tmp_path, "--home", tmp_path / "new")).exit_code == 1
    assert "holds no backup" in nothing.stderr
    assert not (tmp_path / "new").exists()


@pytest.fixture(scope="module")
def with_password(state_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server that asks for a password."""
    data = state_dir / "backup-tcp" / "postgres"
    with EmbeddedPostgres(data, settings=FAST_SETTINGS, tcp=True) as server:
        asyncio.run(migrate(server.dsn, dialect="native"))
        yield server


def password_of(server: EmbeddedPostgres) -> str:
    return server.data_dir.with_name("postgres.password").read_text()


def test_a_wrong_password_is_told_without_it(
    run: Any, folder: Path, with_password: EmbeddedPostgres
) -> None:
    wrong = with_password.dsn.replace(password_of(with_password), "guessed-wrong")
    refused = run("backup", folder, DATABASE_URL=wrong)
    assert refused.exit_code == 2
    assert "password authentication failed" in refused.stderr
    assert "guessed-wrong" not in refused.output
    assert not folder.exists()


def test_the_password_is_no_argument_and_in_no_output(
    folder: Path, tmp_path: Path, slow_programs: Path, run: Any, with_password: EmbeddedPostgres
) -> None:
    with started(folder, with_password.dsn, slow_programs) as process:
        arguments = begun(tmp_path).partition(" ")[2]
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        assert process.stderr is not None
        said = process.stderr.read()
    password = password_of(with_password)
    assert "--format=custom" in arguments
    assert password not in arguments + said
    assert with_password.dsn.rpartition("@")[2] not in arguments
    whole = run("backup", folder, DATABASE_URL=with_password.dsn)
    assert whole.exit_code == 0, whole.output
    assert password not in whole.output


class started:  # noqa: N801 - reads as a context manager
    """``ragbase backup`` as a process, ended at the end."""

    def __init__(self, folder: Path, url: str, programs: Path) -> None:
        program = "from ragbase.cli import main; main()"
        environment = {**os.environ, "DATABASE_URL": url, "RAGBASE_PG_BIN": str(programs)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, "backup", str(folder)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def __enter__(self) -> subprocess.Popen[str]:
        return self.process

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()


def begun(tmp_path: Path) -> str:
    """What the hanging pg_dump has told: its process and its arguments."""
    deadline = time.monotonic() + 60
    told = tmp_path / "begun"
    while time.monotonic() < deadline:
        if told.exists() and told.read_text().endswith("\n"):
            return told.read_text()
        time.sleep(0.02)
    pytest.fail("pg_dump was not started")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(
    folder: Path, tmp_path: Path, slow_programs: Path, database_url: str, number: int
) -> None:
    with started(folder, database_url, slow_programs) as process:
        begun(tmp_path)
        process.send_signal(number)
        assert process.wait(30) == 130
    assert [path.name for path in folder.iterdir()] == [".lock"]


def test_killed_midway_it_leaves_nothing_that_looks_like_a_backup(
    folder: Path, tmp_path: Path, slow_programs: Path, database_url: str, run: Any
) -> None:
    with started(folder, database_url, slow_programs) as process:
        child = int(begun(tmp_path).split()[0])
        process.kill()
        process.wait()
    os.kill(child, signal.SIGKILL)  # a real pg_dump ends at its next line to the broken pipe
    assert [path.suffix for path in folder.iterdir() if path.is_dir()] == [".partial"]
    assert "No backups" in run("backups", folder).stdout
    refused = run("restore", folder, DATABASE_URL=database_url)
    assert (refused.exit_code, "holds no backup" in refused.stderr) == (1, True)
    assert run("backup", folder, DATABASE_URL=database_url).exit_code == 0
    assert not list(folder.glob("*.partial"))


@pytest.mark.slow
def test_the_embedded_database_stopped_and_running(run: Any, folder: Path, state_dir: Path) -> None:
    home = state_dir / "backup-home"
    with EmbeddedPostgres(home / "postgres") as server:
        asyncio.run(migrate(server.dsn, dialect="native"))
        ask(server.dsn, ADD)
        running = run("backup", folder, "--home", home)
        assert running.exit_code == 0, running.output
        refused = run("restore", folder, "--home", home)
        assert refused.exit_code == 1
        assert "not empty" in refused.stderr
        assert ask(server.dsn, COUNT) == 1
    stopped = run("backup", folder, "--json", RAGBASE_HOME=str(home))
    assert stopped.exit_code == 0, stopped.output
    assert not (home / "postgres" / "postmaster.pid").exists()
    new = state_dir / "backup-new"
    assert (restored := run("restore", folder, "--home", new)).exit_code == 0, restored.output
    with EmbeddedPostgres(new / "postgres") as server:
        assert ask(server.dsn, COUNT) == 1
