"""The custom resources `RagBaseBackup` and `RagBaseRestore`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ragbase_operator.models.base import Rule
from ragbase_operator.models.conditions import Timestamp
from ragbase_operator.models.tasks import SET_ONCE, TaskSpec, TaskStatus
from ragbase_operator.models.texts import Folder, ObjectName

__all__ = [
    "RagBaseBackupSpec",
    "RagBaseBackupStatus",
    "RagBaseRestoreSpec",
    "RagBaseRestoreStatus",
]


class RagBaseBackupSpec(TaskSpec):
    """One backup of everything in the database of a RagBase, into a claim. Set once."""

    claim_name: ObjectName | None = Field(
        default=None,
        description="Claim that the backup is written to; left out: the RagBase's "
        "`spec.backup.claimName`.",
    )
    folder: Folder | None = Field(
        default=None, description="Folder of the backups in that claim; left out: its root."
    )
    keep: int | None = Field(
        default=None, ge=1, le=1000, description="Afterwards keep the newest so many backups."
    )
    keep_days: int | None = Field(
        default=None, ge=0, le=36_500, description="Keep those of the last so many days too."
    )
    compression: int = Field(
        default=1, ge=0, le=9, description="Level of gzip; 6 is small but slow."
    )
    rules = (SET_ONCE,)


class RagBaseBackupStatus(TaskStatus):
    """How the backup went, and what is in it."""

    claim_name: str | None = Field(
        default=None, max_length=253, description="Claim that holds the backup."
    )
    path: str | None = Field(
        default=None, max_length=1024, description="Folder of this backup, below the claim's root."
    )
    taken_at: Timestamp | None = Field(
        default=None, description="The moment whose state the backup holds."
    )
    bytes: int | None = Field(default=None, ge=0, description="Size.")
    documents: int | None = Field(default=None, ge=0, description="Documents in it.")
    chunks: int | None = Field(default=None, ge=0, description="Chunks in it.")
    version: str | None = Field(
        default=None, max_length=64, description="Version of RagBase that made it."
    )


class RagBaseRestoreSpec(TaskSpec):
    """Restores a backup into the empty database of a RagBase. Set once.

    Left out `backup` and `claimName`: from the RagBase's `spec.backup.claimName`.
    """

    backup: ObjectName | None = Field(
        default=None,
        description="Name of a finished RagBaseBackup in the same namespace, of whichever RagBase.",
    )
    claim_name: ObjectName | None = Field(
        default=None, description="Claim that holds the backup, where it is not given by `backup`."
    )
    folder: Folder | None = Field(
        default=None,
        description="Folder of one backup, or of several whose newest is taken; left out: the "
        "claim's root.",
    )
    memory_megabytes: int = Field(
        default=512,
        ge=1,
        le=1_048_576,
        description="Memory of the database server for building indexes.",
    )
    workers: int = Field(
        default=0,
        ge=0,
        le=64,
        description="Parallel workers for building indexes; they need shared memory.",
    )
    rules = (
        SET_ONCE,
        Rule(
            "!has(self.backup) || (!has(self.claimName) && !has(self.folder))",
            "give `backup`, or `claimName` and `folder`, not both: a backup knows where it lies",
        ),
    )


class RagBaseRestoreStatus(TaskStatus):
    """How the restore went, and what is in the database now."""

    claim_name: str | None = Field(
        default=None, max_length=253, description="Claim that held the backup."
    )
    path: str | None = Field(
        default=None, max_length=1024, description="Folder of the backup, below the claim's root."
    )
    taken_at: Timestamp | None = Field(
        default=None, description="The moment whose state was restored."
    )
    documents: int | None = Field(default=None, ge=0, description="Documents restored.")
    chunks: int | None = Field(default=None, ge=0, description="Chunks restored.")
    checksums_compared: bool | None = Field(
        default=None, description="false: only rows were counted, the server's hash is another."
    )
    migrated: bool | None = Field(
        default=None, description="Whether the schema was brought up to this version."
    )
    healed: list[Annotated[str, Field(max_length=1024)]] = Field(
        default_factory=list, max_length=64, description="Repairs of the keyword index."
    )
