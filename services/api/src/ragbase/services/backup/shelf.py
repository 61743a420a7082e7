"""A folder of backups: one sub-folder each, named by its time; unfinished ones never count.

A backup grows in ``<name>.partial`` and is renamed when all of it is on disk. Anything else in the
folder is left alone.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ragbase.errors import BackupError, ConflictError
from ragbase.services.backup.manifest import MANIFEST, Manifest, check_files, read_manifest

__all__ = ["Entry", "Retention", "Shelf", "resolve"]

PARTIAL = ".partial"
_NAME = re.compile(r"\d{8}T\d{6}Z(-\d+)?")


@dataclass(frozen=True, slots=True)
class Entry:
    """A backup of the folder; ``fault`` says why it cannot be used, where it cannot."""

    path: Path
    manifest: Manifest | None
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Retention:
    """Which backups stay: the newest ``count``, and all younger than ``days``; None: no such rule.

    A backup goes when no rule keeps it; without any rule all stay.
    """

    count: int | None = None
    days: float | None = None

    def expired(self, taken: list[tuple[Path, datetime]], now: datetime) -> list[Path]:
        """Those of ``taken`` to remove; the newest one never is."""
        if self.count is None and self.days is None:
            return []
        newest_first = sorted(taken, key=lambda each: each[1], reverse=True)
        return [
            path
            for place, (path, time) in enumerate(newest_first)
            if place >= max(1, self.count or 0) and not self._young(time, now)
        ]

    def _young(self, time: datetime, now: datetime) -> bool:
        return self.days is not None and now - time < timedelta(days=self.days)


class Shelf:
    """The folder ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def entries(self) -> list[Entry]:
        """All backups, oldest first; files are not read (`verify` does)."""
        if not self.root.is_dir():
            raise BackupError(f"There is no folder {self.root}. `ragbase backup FOLDER` makes one.")
        found = sorted(path for path in self.root.iterdir() if _is_backup(path))
        return [_entry(path) for path in found]

    async def verify(self) -> list[Entry]:
        """As `entries`, with every file compared with its manifest."""
        return [await _verified(entry) for entry in self.entries()]

    @contextmanager
    def growing(self, now: datetime) -> Iterator[Path]:
        """A new folder, mode 0700, for a backup taken at ``now``; gone if the block fails.

        One at a time: raises `ConflictError` while another process writes to this folder.
        """
        self._make_root()
        with self._lock():
            self._sweep()
            partial = self.root / (self._free_name(now) + PARTIAL)
            partial.mkdir(mode=0o700)
            try:
                yield partial
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise

    def finish(self, partial: Path) -> Path:
        """Give a backup that is complete its name; it survives a crash from here on."""
        _sync_folder(partial)
        final = partial.with_name(partial.name.removesuffix(PARTIAL))
        partial.rename(final)
        _sync_folder(self.root)
        return final

    def retain(self, rule: Retention, now: datetime) -> list[Path]:
        """Remove the backups that no rule keeps; returns them. Damaged ones stay, to be seen."""
        taken = [
            (entry.path, entry.manifest.taken_at) for entry in self.entries() if entry.manifest
        ]
        expired = rule.expired(taken, now)
        for path in expired:
            # Without its manifest it is no backup any more, however far the removal comes.
            (path / MANIFEST).unlink()
            shutil.rmtree(path)
        return expired

    def _make_root(self) -> None:
        try:
            if not self.root.is_dir():
                self.root.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise BackupError(
                f"Cannot make the folder {self.root}: {error.strerror}. Choose another one."
            ) from error

    @contextmanager
    def _lock(self) -> Iterator[None]:
        try:
            descriptor = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BackupError(
                f"Cannot write to {self.root}: {error.strerror}. Choose another folder."
            ) from error
        try:
            _lock_file(descriptor, self.root)
            yield
        finally:
            os.close(descriptor)

    def _sweep(self) -> None:
        """Remove what runs that were killed have left; none is alive, we hold the lock."""
        for path in self.root.glob("*" + PARTIAL):
            if _NAME.fullmatch(path.name.removesuffix(PARTIAL)):
                shutil.rmtree(path, ignore_errors=True)

    def _free_name(self, now: datetime) -> str:
        name = now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        tries = (name if number == 1 else f"{name}-{number}" for number in range(1, 1000))
        return next(each for each in tries if not (self.root / each).exists())


def resolve(path: Path) -> Path:
    """The backup meant by ``path``: itself, or the newest usable one in it.

    Raises `BackupError` where there is none.
    """
    if (path / MANIFEST).exists() or _NAME.fullmatch(path.name):
        return path
    usable = [entry for entry in Shelf(path).entries() if entry.manifest is not None]
    if not usable:
        raise BackupError(f"{path} holds no backup. `ragbase backup {path}` makes one.")
    return max(usable, key=lambda entry: entry.manifest.taken_at).path  # type: ignore[union-attr]


def _is_backup(path: Path) -> bool:
    return _NAME.fullmatch(path.name) is not None and path.is_dir()


def _entry(path: Path) -> Entry:
    try:
        return Entry(path, read_manifest(path))
    except BackupError as error:
        return Entry(path, None, error.message)


async def _verified(entry: Entry) -> Entry:
    if entry.manifest is None:
        return entry
    try:
        await check_files(entry.path, entry.manifest)
    except BackupError as error:
        return Entry(entry.path, entry.manifest, error.message)
    return entry


def _lock_file(descriptor: int, root: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ConflictError(
            f"Another backup is being written to {root}. Wait for it to end."
        ) from None
    except OSError as error:
        raise BackupError(
            f"{root} cannot be locked: {error.strerror}. Choose a folder of another file system."
        ) from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
