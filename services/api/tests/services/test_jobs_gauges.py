"""Gauges of jobs."""

from __future__ import annotations

from ragbase.services.jobs_gauges import JobGauges, show
from ragbase.storage.jobs import JobDraft, insert_job
from ragbase.storage.jobs_upkeep import JobCount
from ragbase.storage.pool import Database
from ragbase.telemetry.metrics import REGISTRY


def jobs(kind: str, state: str) -> float | None:
    return REGISTRY.get_sample_value("ragbase_jobs", {"kind": kind, "state": state})


def oldest(kind: str) -> float | None:
    return REGISTRY.get_sample_value("ragbase_job_oldest_seconds", {"kind": kind})


def test_what_is_gone_is_zero_again() -> None:
    show([JobCount("ingest", "queued", 3, 12.5), JobCount("delete", "failed", 1, 0)])
    assert (jobs("ingest", "queued"), jobs("delete", "failed"), oldest("ingest")) == (3, 1, 12.5)
    show([])
    assert (jobs("ingest", "queued"), jobs("delete", "failed"), oldest("ingest")) == (0, 0, 0)
    assert jobs("reindex", "running") == 0, "a dashboard finds every series from the start"


async def test_the_database_is_counted(db: Database) -> None:
    async with db.acquire() as connection:
        await insert_job(connection, JobDraft("delete", "delete", None, {}))
    await JobGauges(db).refresh()
    assert (jobs("delete", "queued"), jobs("ingest", "queued")) == (1, 0)
