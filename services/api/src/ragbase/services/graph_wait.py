"""Callers who want their document in the graph before they go on."""

from __future__ import annotations

from dataclasses import dataclass

from ragbase.models.documents import DocumentOut, IngestWarning
from ragbase.services.documents import DocumentService
from ragbase.services.jobs import JobService

__all__ = ["GraphWait"]


@dataclass(frozen=True, slots=True)
class GraphWait:
    """``always`` (INGEST_WAIT_FOR_GRAPH): who asks for nothing waits too; at most ``longest_s``."""

    always: bool = False
    longest_s: float = 60.0

    async def settle(
        self, document: DocumentOut, seconds: float, jobs: JobService, documents: DocumentService
    ) -> DocumentOut:
        """``document`` once its graph job has ended, or as it stands after ``seconds``.

        The document is stored whatever becomes of the job; a warning says what is not done.
        """
        job_id = document.graph.job_id
        if job_id is None or document.graph.status not in ("queued", "running"):
            return document
        job = await jobs.wait(job_id, seconds)
        document.graph = await documents.graph_of(document.id)
        if not job.ended:
            why = "" if job.error is None else f" So far: {job.error.message}"
            document.warnings.append(
                IngestWarning(
                    code="graph_pending",
                    message=f"The document is not in the graph after {seconds:g} s; job {job_id} "
                    f"goes on.{why}",
                )
            )
        elif job.state != "succeeded":
            why = "It was cancelled." if job.error is None else job.error.message
            document.warnings.append(
                IngestWarning(
                    code="graph_failed",
                    message=f"The document is stored, but not in the graph. {why}",
                )
            )
        return document
