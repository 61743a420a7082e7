"""Under which user Postgres runs: Postgres refuses root, containers and CI are often root."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragbase.errors import ConfigurationError

__all__ = ["Account", "check_reach", "may_reach", "service_account"]


@dataclass(frozen=True, slots=True)
class Account:
    """The user of the server's processes; ``uid`` is None where it is simply our own."""

    name: str
    uid: int | None = None
    gid: int | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Arguments for `subprocess` that make a child this user."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def give(self, path: Path) -> None:
        """Make ``path`` (not what is below it) this user's."""
        if self.uid is not None and self.gid is not None:
            os.chown(path, self.uid, self.gid)


def service_account(data_dir: Path) -> Account:
    """Ourselves; for root: the owner of an existing data folder, else ``nobody``."""
    if os.name == "nt" or os.geteuid() != 0:
        return Account("the current user")
    import pwd

    try:
        owner = data_dir.stat().st_uid if data_dir.exists() else 0
        entry = pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError as error:
        raise ConfigurationError(
            "Postgres does not run as root, and there is no user `nobody` to run it as. "
            "Start RagBase as an ordinary user, or set DATABASE_URL to another Postgres."
        ) from error
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def may_reach(account: Account, path: Path) -> bool:
    """Whether ``account`` may enter every folder above ``path``."""
    return _closed_folder(account, path) is None


def check_reach(account: Account, path: Path, purpose: str) -> None:
    """Raise `ConfigurationError` naming the folder that bars ``account`` from ``path``."""
    closed = _closed_folder(account, path)
    if closed is not None:
        raise ConfigurationError(
            f"RagBase runs as root, so its Postgres runs as user {account.name}, and the folder "
            f"{closed} is closed to that user; {purpose} ({path}) lies below it. Start RagBase "
            "as an ordinary user, or from a folder open to all (such as /opt or /srv), or set "
            "DATABASE_URL to another Postgres."
        )


def _closed_folder(account: Account, path: Path) -> Path | None:
    if account.uid is None:
        return None
    folders = reversed(path.resolve().parents)
    return next((each for each in folders if not _may_enter(account, each.stat())), None)


def _may_enter(account: Account, status: os.stat_result) -> bool:
    if status.st_uid == account.uid:
        return bool(status.st_mode & stat.S_IXUSR)
    if status.st_gid == account.gid:
        return bool(status.st_mode & stat.S_IXGRP)
    return bool(status.st_mode & stat.S_IXOTH)
