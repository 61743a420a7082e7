"""Jobs: as callers see them, and as a worker holds them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from pydantic import BaseModel, Field

__all__ = [
    "ENDED",
    "ClaimedJob",
    "Job",
    "JobError",
    "JobKind",
    "JobState",
    "Progress",
]

JobKind = Literal["ingest", "context", "graph", "project", "delete", "reindex", "backup"]
JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ENDED: Final[frozenset[JobState]] = frozenset({"succeeded", "failed", "cancelled"})


class Progress(BaseModel):
    """How far the stage under way has come; ``total`` is null while it is unknown."""

    done: int = 0
    total: int | None = None


class JobError(BaseModel):
    """Why the last attempt failed; kept while the job waits for its next one."""

    code: str
    message: str


class Job(BaseModel):
    """A piece of work that outlives the request that asked for it."""

    id: int
    kind: JobKind
    state: JobState
    stage: str | None = Field(
        default=None, description="Step of the attempt under way: parse, split, embed, store, …"
    )
    progress: Progress = Field(default_factory=Progress)
    attempts: int = Field(
        default=0, description="Attempts begun so far; one that was interrupted kindly is not one."
    )
    error: JobError | None = None
    document_id: int | None = Field(
        default=None, description="The document made or changed; null once it is deleted."
    )
    collection: str | None = Field(default=None, description="null: the job is of no collection.")
    result: dict[str, Any] | None = Field(
        default=None, description="What a job that succeeded tells, by kind."
    )
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class ClaimedJob:
    """A job in the hands of one worker, who alone knows ``claim`` and so alone may end it.

    ``payload`` says what to do, ``blob`` holds an upload's bytes. ``attempts`` counts this one.
    """

    id: int
    kind: JobKind
    task: str
    claim: UUID
    attempts: int
    max_attempts: int
    collection: str | None
    document_id: int | None
    payload: dict[str, Any]
    blob: bytes | None
    created_at: datetime
