"""Job routes: what was accepted and is done later."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response, status

from ragbase.models.documents import CollectionName
from ragbase.models.jobs import Job, JobKind, JobState
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.deps import JobId, Jobs
from ragbase.routes.later import accepted
from ragbase.routes.openapi import CONFLICT, NOT_FOUND, UNAVAILABLE
from ragbase.routes.prefer import Preferences

__all__ = ["router"]

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])


@router.get(
    "", dependencies=[READ], response_model=list[Job], responses={**NOT_FOUND, **UNAVAILABLE}
)
async def list_jobs(
    jobs: Jobs,
    response: Response,
    state: JobState | None = None,
    kind: JobKind | None = None,
    collection: Annotated[CollectionName | None, Query()] = None,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[Job]:
    """Jobs, newest first; `X-Total-Count` holds how many there are. Ended ones expire."""
    rows, total = await jobs.page(
        offset=offset, limit=limit, state=state, kind=kind, collection=collection
    )
    response.headers["X-Total-Count"] = str(total)
    return rows


@router.get(
    "/{job_id}", dependencies=[READ], response_model=Job, responses={**NOT_FOUND, **UNAVAILABLE}
)
async def get_job(job_id: JobId, jobs: Jobs, prefer: Preferences, response: Response) -> Job:
    """One job. `Prefer: wait=N` answers once it has ended, or after N seconds."""
    if not prefer.wait_s:
        return await jobs.get(job_id)
    response.headers["Preference-Applied"] = f"wait={prefer.wait_s}"
    return await jobs.wait(job_id, prefer.wait_s)


@router.post(
    "/{job_id}/cancel",
    dependencies=[WRITE],
    response_model=Job,
    responses={
        202: {"model": Job, "description": "It runs and will end soon, storing nothing more."},
        **NOT_FOUND,
        **CONFLICT,
        **UNAVAILABLE,
    },
)
async def cancel_job(job_id: JobId, jobs: Jobs, response: Response) -> Job:
    """End a job that waits, or ask the one that runs to stop. What it has stored stays stored."""
    job = await jobs.cancel(job_id)
    if not job.ended:
        response.status_code = status.HTTP_202_ACCEPTED
    return job


@router.post(
    "/{job_id}/retry",
    dependencies=[WRITE],
    status_code=status.HTTP_202_ACCEPTED,
    response_model=Job,
    responses={**NOT_FOUND, **CONFLICT, **UNAVAILABLE},
)
async def retry_job(job_id: JobId, jobs: Jobs) -> Response:
    """Queue a failed or cancelled job again, with all its attempts."""
    return accepted(await jobs.retry(job_id))
