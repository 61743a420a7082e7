"""Jobs that make the context lines that a document lacks."""

from __future__ import annotations

from ragbase.services.context_fill import ContextFill
from ragbase.services.jobs_run import Handler

__all__ = ["makes_contexts"]


def makes_contexts(fill: ContextFill) -> Handler:
    """Task ``context``; the document is the job's, the payload empty."""
    return fill.fill
