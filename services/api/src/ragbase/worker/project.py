"""Jobs that make the projection of the graph anew."""

from __future__ import annotations

from ragbase.services.jobs_run import Handler
from ragbase.services.projection_rebuild import ProjectionRebuild

__all__ = ["rebuilds_projection"]


def rebuilds_projection(rebuild: ProjectionRebuild) -> Handler:
    """Task ``project``; the payload is empty."""
    return rebuild.run
