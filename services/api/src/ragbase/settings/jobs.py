"""Workers and the queue."""

from __future__ import annotations

from pydantic import Field

from ragbase.settings.base import Section, env

__all__ = ["JobSettings"]


class JobSettings(Section):
    """Workers and the queue."""

    workers: int = Field(
        1,
        ge=0,
        le=256,
        validation_alias=env("RAGBASE_WORKERS"),
        description="Jobs that `up` and `serve` do at once, inside the API; 0 leaves them to `ragbase worker`.",
    )
    worker_jobs: int = Field(
        2,
        ge=1,
        le=256,
        validation_alias=env("RAGBASE_WORKER_JOBS"),
        description="Jobs that `ragbase worker` does at once.",
    )
    side_jobs: int = Field(
        1,
        ge=1,
        le=256,
        validation_alias=env("RAGBASE_SIDE_JOBS"),
        description="Jobs of the kinds graph and context that each worker does at once, beside the others.",
    )
    worker_grace_s: float = Field(
        10.0,
        ge=0,
        validation_alias=env("RAGBASE_WORKER_GRACE"),
        description="Time that jobs under way get at the end, in seconds; then others take them.",
    )
    job_lease_s: float = Field(
        30.0,
        ge=5,
        validation_alias=env("RAGBASE_JOB_LEASE"),
        description="Silence after which a worker counts as dead and its jobs go to others, in seconds.",
    )
    job_attempts: int = Field(
        10,
        ge=1,
        le=1000,
        validation_alias=env("RAGBASE_JOB_ATTEMPTS"),
        description="Attempts before a job has failed for good; about half an hour of outage.",
    )
    job_retention_days: float = Field(
        7.0,
        gt=0,
        le=36_500,
        validation_alias=env("RAGBASE_JOB_RETENTION_DAYS"),
        description="How long ended jobs are kept; failed ones can be retried so long.",
    )
    max_queued: int = Field(
        100_000,
        ge=1,
        validation_alias=env("RAGBASE_MAX_QUEUED"),
        description="Most jobs that wait; more are answered 429.",
    )
    max_queued_per_collection: int = Field(
        10_000,
        ge=1,
        validation_alias=env("RAGBASE_MAX_QUEUED_PER_COLLECTION"),
        description="Most jobs of one collection that wait; more are answered 429.",
    )
