"""Jobs that bring documents into the entity graph."""

from __future__ import annotations

from ragbase.services.graph_extraction import GraphExtraction
from ragbase.services.jobs_run import Handler

__all__ = ["extracts_graph"]


def extracts_graph(extraction: GraphExtraction) -> Handler:
    """Task ``graph``; the payload names the version, the document is the job's."""
    return extraction.run
