"""Jobs that store or change one document."""

from __future__ import annotations

from ragbase.models.documents import DocumentIn, DocumentPatch
from ragbase.services.ingest import IngestService
from ragbase.services.jobs_run import Handler, JobResult, JobRun
from ragbase.services.upload import UploadService

__all__ = ["changes_document", "stores_document", "stores_file"]


def stores_document(ingest: IngestService) -> Handler:
    """Task ``ingest``; the payload is a `DocumentIn`."""

    async def handle(run: JobRun) -> JobResult:
        await ingest.create(DocumentIn.model_validate(run.job.payload), run)
        return None

    return handle


def stores_file(uploads: UploadService) -> Handler:
    """Task ``upload``; the blob is the file as it came, the payload its name and fields."""

    async def handle(run: JobRun) -> JobResult:
        await uploads.resume(run.job.payload, run.job.blob or b"", run)
        return None

    return handle


def changes_document(ingest: IngestService) -> Handler:
    """Task ``patch``; the payload is a `DocumentPatch`, the document the job's."""

    async def handle(run: JobRun) -> JobResult:
        # Deleted since: the id is gone from the job too, and 0 is nobody's.
        document_id = run.job.document_id or 0
        await ingest.patch(document_id, DocumentPatch.model_validate(run.job.payload), run)
        return None

    return handle
