"""Many documents removed in one request."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ragbase.models.batch import DeleteIn, DeleteOut
from ragbase.routes.auth import WRITE
from ragbase.routes.deps import Deletion, Jobs
from ragbase.routes.later import ACCEPTED, accepted
from ragbase.routes.openapi import NOT_FOUND, UNAVAILABLE
from ragbase.routes.prefer import Preferences

__all__ = ["router"]

router = APIRouter(prefix="/v1/documents", tags=["documents"], dependencies=[WRITE])


@router.post(
    "/delete",
    response_model=DeleteOut,
    responses={**ACCEPTED, **NOT_FOUND, **UNAVAILABLE},
)
async def delete_documents(
    body: DeleteIn, deletion: Deletion, jobs: Jobs, prefer: Preferences
) -> DeleteOut | Response:
    """Remove documents by `ids`, or those of a collection that match a `filter`.

    Whole documents go, in transactions of bounded size: when it is interrupted, the rest goes when
    it is repeated. What names nothing, or everything by an empty filter, is refused with 422 and
    removes nothing. With `Prefer: respond-async` a job removes what matches a filter; ids are few
    and removed at once.
    """
    if body.filter is None or body.dry_run or not prefer.respond_async:
        return await deletion.delete(body)
    collection = await deletion.check(body)
    job = await jobs.submit("delete", collection, body.model_dump(mode="json", exclude_unset=True))
    if prefer.wait_s:
        job = await jobs.wait(job.id, prefer.wait_s)
    if job.state == "succeeded" and job.result is not None:
        return DeleteOut.model_validate(job.result)
    return accepted(job, applied="respond-async")
