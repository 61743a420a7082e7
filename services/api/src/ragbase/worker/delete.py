"""Jobs that remove documents by a filter."""

from __future__ import annotations

from ragbase.models.batch import DeleteIn
from ragbase.services.deletion import DeletionService
from ragbase.services.jobs_run import Handler, JobResult, JobRun

__all__ = ["deletes_documents"]


def deletes_documents(deletion: DeletionService) -> Handler:
    """Task ``delete``; the payload is a `DeleteIn` with a filter.

    It commits as it goes. Begun again, it removes what is left and tells of that only.
    """

    async def handle(run: JobRun) -> JobResult:
        request = DeleteIn.model_validate(run.job.payload)
        run.progress("delete")
        removed = await deletion.delete(
            request,
            lambda done: run.progress("delete", done),
            accepted_at=run.job.created_at,
        )
        return removed.model_dump()

    return handle
