"""Who does what: the handler of each task."""

from __future__ import annotations

from collections.abc import Mapping

from ragbase.services.context_fill import ContextFill
from ragbase.services.deletion import DeletionService
from ragbase.services.graph_extraction import GraphExtraction
from ragbase.services.ingest import IngestService
from ragbase.services.jobs_run import Handler
from ragbase.services.projection_rebuild import ProjectionRebuild
from ragbase.services.upload import TASK, UploadService
from ragbase.worker.context import makes_contexts
from ragbase.worker.delete import deletes_documents
from ragbase.worker.graph import extracts_graph
from ragbase.worker.ingest import changes_document, stores_document, stores_file
from ragbase.worker.project import rebuilds_projection

__all__ = ["handlers"]


def handlers(
    *,
    ingest: IngestService,
    deletion: DeletionService,
    uploads: UploadService,
    extraction: GraphExtraction,
    contexts: ContextFill,
    projection: ProjectionRebuild | None = None,
) -> Mapping[str, Handler]:
    """By task, as `JobService.submit` names it. A worker claims only tasks that are in here, so
    that one of an older version leaves new ones to its successors.
    """
    found: dict[str, Handler] = {
        "ingest": stores_document(ingest),
        "patch": changes_document(ingest),
        TASK: stores_file(uploads),
        "delete": deletes_documents(deletion),
        "context": makes_contexts(contexts),
    }
    if extraction.extractor is not None:  # else they wait for a worker that has one
        found["graph"] = extracts_graph(extraction)
    if projection is not None:  # likewise, for one that projects
        found["project"] = rebuilds_projection(projection)
    return found
