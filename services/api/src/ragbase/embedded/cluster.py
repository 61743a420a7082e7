"""The data folder: made once by initdb, checked at every later start."""

from __future__ import annotations

import secrets
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

from ragbase.embedded.account import Account
from ragbase.embedded.binaries import Binaries
from ragbase.errors import ConfigurationError

__all__ = [
    "DATABASE",
    "SUPERUSER",
    "address",
    "check_version",
    "initialise",
    "is_initialised",
    "password_file",
]

SUPERUSER = "ragbase"
DATABASE = "ragbase"


def is_initialised(data_dir: Path) -> bool:
    """Whether a cluster stands in ``data_dir``."""
    return (data_dir / "PG_VERSION").is_file()


def password_file(data_dir: Path) -> Path:
    """Where the password of a server that has to listen on TCP is kept, beside the data."""
    return data_dir.with_name(data_dir.name + ".password")


def address(data_dir: Path, socket_dir: Path | None, port: int, database: str) -> str:
    """URL of a database of the server on ``data_dir``; without a socket it listens on TCP."""
    if socket_dir is not None:
        return (
            f"postgresql://{SUPERUSER}@/{quote(database)}"
            f"?host={quote(str(socket_dir), safe='/')}&port={port}"
        )
    password = password_file(data_dir).read_text(encoding="ascii")
    return f"postgresql://{SUPERUSER}:{password}@127.0.0.1:{port}/{quote(database)}"


def check_version(data_dir: Path, major: int) -> None:
    """Refuse data of another major version: Postgres cannot read it."""
    found = (data_dir / "PG_VERSION").read_text(encoding="ascii").strip()
    if found != str(major):
        raise ConfigurationError(
            f"{data_dir} was written by Postgres {found}, this installation has Postgres {major}. "
            "Dump it with the RagBase that wrote it (`ragbase backup`), move the folder away, "
            "start again and restore the dump."
        )


def initialise(
    data_dir: Path, binaries: Binaries, account: Account, *, password: bool, sync: bool
) -> None:
    """Run initdb into a folder beside ``data_dir``, then rename: a broken run leaves nothing half.

    A password for the superuser is made and stored when the server will listen on TCP.
    """
    if data_dir.exists() and any(data_dir.iterdir()):
        raise ConfigurationError(
            f"{data_dir} is not empty and holds no Postgres data. Choose another state folder "
            "(RAGBASE_HOME), or move that one away."
        )
    fresh = data_dir.with_name(data_dir.name + ".new")
    if fresh.exists():
        shutil.rmtree(fresh)
    fresh.mkdir(mode=0o700)
    account.give(fresh)
    _run_initdb(fresh, data_dir, binaries, account, password=password, sync=sync)
    if data_dir.exists():
        data_dir.rmdir()
    fresh.rename(data_dir)


def _run_initdb(
    fresh: Path,
    data_dir: Path,
    binaries: Binaries,
    account: Account,
    *,
    password: bool,
    sync: bool,
) -> None:
    command = [
        str(binaries.program("initdb")),
        f"--pgdata={fresh}",
        f"--username={SUPERUSER}",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
        "--auth-local=trust",
        "--auth-host=scram-sha-256",
        "--no-instructions",
    ]
    if not sync:
        command.append("--no-sync")
    if password:
        secret = password_file(data_dir)
        secret.touch(mode=0o600)
        secret.write_text(secrets.token_urlsafe(24), encoding="ascii")
        account.give(secret)  # initdb reads it as the server's user
        command.append(f"--pwfile={secret}")
    answer = subprocess.run(  # noqa: S603 - a program of the installed wheel
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd="/",
        **account.identity,
    )
    if answer.returncode != 0:
        shutil.rmtree(fresh, ignore_errors=True)
        raise ConfigurationError(
            f"Cannot make the Postgres data folder {data_dir}: {answer.stderr.strip()}"
        )
