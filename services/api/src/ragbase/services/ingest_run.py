"""What an ingest tells: the job it may be part of, and the counters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ragbase.errors import InvalidInputError, NotFoundError
from ragbase.models.documents import ContextState, GraphState, IngestWarning, Outcome
from ragbase.models.domain import Document
from ragbase.services.jobs_run import JobRun
from ragbase.storage.pool import Connection
from ragbase.telemetry.metrics import count_ingested

__all__ = ["IngestOutcome", "counted", "end", "tell"]


@dataclass(frozen=True, slots=True)
class IngestOutcome:
    """What became of a posted document."""

    document: Document
    outcome: Outcome
    warnings: tuple[IngestWarning, ...] = ()
    graph: GraphState = field(default_factory=GraphState)
    context: ContextState = field(default_factory=ContextState)


def tell(run: JobRun | None, stage: str, done: int = 0, total: int | None = None) -> None:
    """Tell the job, if there is one, where its work stands."""
    if run is not None:
        run.progress(stage, done, total)


async def end(connection: Connection, run: JobRun | None, result: IngestOutcome) -> None:
    """End the job, if there is one: the last statement of the transaction that stores."""
    if run is None:
        return
    warnings = [warning.model_dump() for warning in result.warnings]
    await run.commit(
        connection,
        document_id=result.document.id,
        result={
            "outcome": result.outcome,
            "warnings": warnings,
            "context": result.context.model_dump(),
        },
    )


@contextmanager
def counted(run: JobRun | None) -> Iterator[None]:
    """Count documents that were refused or failed; of a job its worker counts only the end."""
    try:
        yield
    except (InvalidInputError, NotFoundError):
        if run is None:
            count_ingested("rejected")
        raise
    except Exception:
        if run is None:
            count_ingested("failed")
        raise
