"""What a backup says about itself; written last, so a folder without one is no backup."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from ragbase.errors import BackupError

__all__ = [
    "DUMP",
    "MANIFEST",
    "FileRecord",
    "Manifest",
    "TableRecord",
    "check_files",
    "file_record",
    "read_manifest",
    "write_manifest",
]

MANIFEST = "manifest.json"
DUMP = "database.dump"
FORMAT = 1
"""Goes up when an older RagBase could misread a backup."""

_BLOCK = 1024 * 1024


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TableRecord(_Record):
    """Rows of a table, and the sum of a 64-bit hash of each."""

    rows: int
    checksum: str


class FileRecord(_Record):
    """A file of the backup."""

    bytes: int
    sha256: str


class Manifest(_Record):
    """All figures are of the one snapshot that the dump was taken of, at ``taken_at``.

    ``seconds`` is how long it took; ``hash_probe`` tells whether another server computes the
    same ``checksum`` s; ``embedding_models`` are names and dimensions.
    """

    format: int = FORMAT
    version: str
    taken_at: datetime
    seconds: float
    postgres: str
    pg_dump: str
    extensions: dict[str, str]
    revisions: tuple[str, ...]
    dialect: str | None
    embedding_models: dict[str, int]
    hash_probe: int
    tables: dict[str, TableRecord]
    files: dict[str, FileRecord]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(file.bytes for file in self.files.values())

    def rows(self, table: str) -> int:
        """Rows of a table by its bare name, whatever its schema; 0 where there is none."""
        return sum(
            record.rows for name, record in self.tables.items() if name.rpartition(".")[2] == table
        )


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write it with its own digest, mode 0600, down to the disk."""
    values = manifest.model_dump(mode="json")
    text = json.dumps({**values, "digest": _digest(values)}, indent=1, sort_keys=True) + "\n"
    descriptor = os.open(folder / MANIFEST, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a backup. Raises `BackupError` on one that is absent, changed or too new."""
    path = folder / MANIFEST
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BackupError(
            f"{folder} is no backup: it has no {MANIFEST}. "
            "`ragbase backups` lists those of a folder."
        ) from None
    except (OSError, ValueError) as error:
        raise BackupError(f"Cannot read {path}: {error}. Take another backup.") from error
    if not isinstance(values, dict):
        raise BackupError(f"{path} is not a manifest. Take another backup.")
    return _checked(path, values)


def _checked(path: Path, values: dict[str, Any]) -> Manifest:
    digest = values.pop("digest", None)
    if digest != _digest(values):
        raise BackupError(
            f"{path} was changed after the backup was made. Restore another backup; what this one "
            "holds can no longer be told."
        )
    found = values.get("format")
    if not isinstance(found, int) or found > FORMAT:
        raise BackupError(
            f"{path} was made by RagBase {values.get('version', 'of a newer version')}, whose "
            "backups this version cannot read. Restore with that version or a newer one."
        )
    try:
        return Manifest.model_validate(values)
    except ValidationError as error:
        place = ".".join(str(part) for part in error.errors()[0]["loc"])
        raise BackupError(f"{path} is not a manifest ({place}). Take another backup.") from error


def _digest(values: Mapping[str, Any]) -> str:
    canonical = json.dumps(values, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


async def check_files(folder: Path, manifest: Manifest) -> None:
    """Compare every file with the manifest. Raises `BackupError` naming the first that differs."""
    for name, record in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise BackupError(f"{path} is missing. Restore another backup.")
        size = path.stat().st_size
        if size != record.bytes:
            raise BackupError(
                f"{path} has {size:,} bytes, the manifest says {record.bytes:,}. "
                "It was cut or changed: restore another backup."
            )
        if (await file_record(path)).sha256 != record.sha256:
            raise BackupError(
                f"{path} does not have the SHA-256 of the manifest. "
                "It was damaged or changed: restore another backup."
            )


async def file_record(path: Path) -> FileRecord:
    """Size and SHA-256, read in a thread."""

    def read() -> FileRecord:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
        return FileRecord(bytes=path.stat().st_size, sha256=digest.hexdigest())

    return await asyncio.to_thread(read)
