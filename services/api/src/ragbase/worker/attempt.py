"""One attempt at one job: the handler, the heartbeat beside it, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ragbase.errors import RagBaseError
from ragbase.models.jobs import JobState
from ragbase.services.background import end
from ragbase.services.jobs_run import ClaimLostError, Handler, JobResult
from ragbase.storage import jobs_claim as store
from ragbase.storage.pool import Connection, Database
from ragbase.telemetry.logs import get_logger
from ragbase.telemetry.metrics import count_ingested
from ragbase.worker.run import Run
from ragbase.worker.verdict import judge

__all__ = ["attempt"]

_PROGRESS_EVERY_S = 1.0
_WRITE_TRIES = 6
"""Tries to write how an attempt ended, a minute in all; after that the lease runs out."""

_log = get_logger("ragbase.worker")
_Ending = Callable[[Connection], Awaitable[JobState | None]]


async def attempt(
    database: Database, run: Run, handler: Handler, *, lease_s: float
) -> float | None:
    """Do the job once and write how it went; seconds until its next attempt, if there is one.

    Only a fault that nobody foresaw passes through; the job's own errors never do.
    """
    beat = asyncio.create_task(_beat(database, run, lease_s))
    work: asyncio.Task[JobResult] = asyncio.ensure_future(handler(run))
    run.watch(work)
    try:
        result = await work
    except asyncio.CancelledError:
        await _stopped(database, run)
        return None
    except ClaimLostError:
        await _write(database, run, lambda c: _cancelled(c, run))
        return None
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is the job's end, not ours
        return await _failed(database, run, error)
    else:
        if not run.committed:
            await _write(database, run, lambda c: _succeeded(c, run, result))
        _log.info("job_done", **_facts(run))
        return None
    finally:
        await end([beat])


async def _beat(database: Database, run: Run, lease_s: float) -> None:
    """Renew the lease well before it ends, and write news at most once a second."""
    pause = min(_PROGRESS_EVERY_S, lease_s / 6)
    while True:
        try:
            async with asyncio.timeout(lease_s / 3 - pause):
                await run.news.wait()
        except TimeoutError:
            pass
        run.news.clear()
        try:
            async with database.acquire() as connection:
                heard = await store.pulse(connection, run.job, run.stand, lease_s=lease_s)
        except RagBaseError as error:
            _log.warning("job_heartbeat_failed", code=error.code, **_facts(run))
            run.news.set()
        else:
            if heard.cancelled:
                run.stop("cancelled")
            elif not heard.ours and not run.committed:
                run.stop("lost")
        await asyncio.sleep(pause)


async def _stopped(database: Database, run: Run) -> None:
    if run.stopped == "cancelled":
        await _write(database, run, lambda c: _cancelled(c, run))
    elif run.stopped == "shutdown":
        await _write(database, run, lambda c: store.release(c, run.job))
    elif run.stopped is None:  # somebody cancelled this very task
        raise asyncio.CancelledError
    _log.info("job_stopped", reason=run.stopped, **_facts(run))


async def _failed(database: Database, run: Run, error: Exception) -> float | None:
    verdict = judge(error, run.job)
    unforeseen = error if verdict.code == "internal_error" else None
    _log.warning(
        "job_attempt_failed",
        code=verdict.code,
        reason=verdict.message,
        again_s=verdict.again_s,
        exc_info=unforeseen,
        **_facts(run),
    )
    code, message, again_s = verdict.code, verdict.message, verdict.again_s
    if again_s is not None:
        await _write(
            database,
            run,
            lambda c: store.postpone(c, run.job, code=code, message=message, seconds=again_s),
        )
        return again_s
    state = await _write(
        database, run, lambda c: store.fail(c, run.job, code=code, message=message)
    )
    if state == "failed" and run.job.kind == "ingest":
        count_ingested("failed")
    return None


async def _write(database: Database, run: Run, ending: _Ending) -> JobState | None:
    """Write the end of the attempt; a database that is away is waited for, unless we end."""
    for again in range(1 if run.stopped == "shutdown" else _WRITE_TRIES):
        try:
            async with database.acquire() as connection:
                return await ending(connection)
        except RagBaseError as error:
            _log.warning("job_end_not_written", code=error.code, **_facts(run))
            await asyncio.sleep(2**again)
    return None


async def _cancelled(connection: Connection, run: Run) -> JobState | None:
    return "cancelled" if await store.end_cancelled(connection, run.job) else None


async def _succeeded(connection: Connection, run: Run, result: JobResult) -> JobState | None:
    if await store.succeed(connection, run.job, result=result):
        return "succeeded"
    return await _cancelled(connection, run)


def _facts(run: Run) -> dict[str, object]:
    return {"job": run.job.id, "kind": run.job.kind, "attempt": run.job.attempts}
