"""Answers of routes that left their work to a job."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from ragbase.errors import NotFoundError
from ragbase.models.documents import DocumentOut
from ragbase.models.jobs import Job
from ragbase.routes.prefer import Prefer
from ragbase.services.documents import DocumentService
from ragbase.services.jobs import JobService

__all__ = ["ACCEPTED", "accepted", "document_or_job"]

ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": Job,
        "description": "Accepted (`Prefer: respond-async`); `Location` tells where the job is.",
    }
}


def accepted(job: Job, *, applied: str | None = None) -> Response:
    """202 with the job; ``applied`` is the preference that was granted."""
    headers = {"Location": f"/v1/jobs/{job.id}"}
    if applied is not None:
        headers["Preference-Applied"] = applied
    return Response(job.model_dump_json(), 202, headers, "application/json")


async def document_or_job(
    job: Job, prefer: Prefer, jobs: JobService, documents: DocumentService
) -> Response:
    """The document, if its job succeeds within the time that the caller would wait; else 202."""
    if prefer.wait_s:
        job = await jobs.wait(job.id, prefer.wait_s)
    document = await _document(job, documents)
    if document is None:
        return accepted(job, applied="respond-async")
    status = 201 if document.outcome == "created" else 200
    headers = {"Preference-Applied": f"wait={prefer.wait_s}"}
    return Response(document.model_dump_json(), status, headers, "application/json")


async def _document(job: Job, documents: DocumentService) -> DocumentOut | None:
    if job.state != "succeeded" or job.document_id is None:
        return None
    try:
        stored = await documents.get(job.document_id)
    except NotFoundError:  # deleted since
        return None
    fields = stored.model_dump(exclude={"chunks"})
    return DocumentOut.model_validate({**fields, **(job.result or {})})
