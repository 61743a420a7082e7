"""Documents into the entity graph: queued where they are stored, done by a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from ragbase.errors import InvalidInputError, RagBaseError, UnavailableError
from ragbase.ingest.extract import Extracted, Extractor
from ragbase.ingest.facts import clean_facts
from ragbase.models.documents import GraphState, IngestWarning
from ragbase.models.domain import Collection
from ragbase.models.extraction import ExtractionSource, SourceChunk
from ragbase.services.ingest_run import IngestOutcome
from ragbase.services.jobs_run import JobResult, JobRun
from ragbase.storage.chunks import list_chunks
from ragbase.storage.collections import get_collection
from ragbase.storage.graph_state import graph_state, queue_extraction
from ragbase.storage.graph_write import lock_chunks, write_facts
from ragbase.storage.pool import Connection, Database

__all__ = ["GraphExtraction"]

PATIENT_ATTEMPTS = 3
"""Attempts of a job that insist on all chunks; a later one stores what there is, where some chunk
keeps being answered with nothing usable."""


class GraphExtraction:
    """Finds the facts of documents by the extractor of this server; None: extraction is off.

    A job belongs to one version of a document. It may run more than once, on any worker, beside
    deletions and new versions: what it stores is the whole contribution of the version, and only
    while that is the one that is stored.
    """

    def __init__(
        self, database: Database, extractor: Extractor | None, *, attempts: int = 10
    ) -> None:
        self._database = database
        self._extractor = extractor
        self._attempts = attempts

    @property
    def extractor(self) -> str | None:
        """Name of the extractor; None: off."""
        return None if self._extractor is None else self._extractor.name

    def reads(self, collection: Collection) -> bool:
        """Whether documents of the collection are extracted from."""
        return self._extractor is not None and self._extractor.reads(collection.language)

    def unread(self, collection: Collection) -> tuple[IngestWarning, ...]:
        """Why documents of the collection are not, where somebody would expect it."""
        if self._extractor is None or self._extractor.reads(collection.language):
            return ()
        return (
            IngestWarning(
                code="extraction_language",
                message=f"The NER model does not read {collection.language}, so the document is not "
                "in the entity graph. Set RAGBASE_NER_MODEL or RAGBASE_NER_URL to one that does.",
            ),
        )

    async def queue(
        self, connection: Connection, document_id: int, collection: Collection
    ) -> GraphState:
        """Queue the extraction of the stored version, in the transaction that stores it."""
        if not self.reads(collection):
            return GraphState()
        return await queue_extraction(
            connection, document_id, collection.id, max_attempts=self._attempts
        )

    async def with_queued(
        self, connection: Connection, result: IngestOutcome, collection: Collection
    ) -> IngestOutcome:
        """`queue` for what an ingest stored, told in its outcome."""
        graph = await self.queue(connection, result.document.id, collection)
        return replace(result, graph=graph, warnings=(*result.warnings, *self.unread(collection)))

    async def with_missing(
        self, kept: IngestOutcome, collection: Collection, *, wanted: bool
    ) -> IngestOutcome:
        """Where an ingest stores nothing: queue the document if it is ``wanted`` in the graph, and
        is not there.
        """
        if not (wanted and self.reads(collection)):
            return replace(kept, graph=await self._state(kept.document.id))
        async with self._database.transaction() as connection:
            locked = await lock_chunks(connection, kept.document.id)
            state = await graph_state(connection, kept.document.id)
            if locked is not None and state.status in ("off", "failed"):
                state = await self.queue(connection, kept.document.id, collection)
        return replace(kept, graph=state)

    async def concerns(self, document_id: int) -> bool:
        """Whether the document is in the graph, or meant to be."""
        return (await self._state(document_id)).status != "off"

    async def _state(self, document_id: int) -> GraphState:
        async with self._database.read() as connection:
            return await graph_state(connection, document_id)

    async def run(self, run: JobRun) -> JobResult:
        """Do one job. Raises what `Extractor.extract` raises; the job is then tried again."""
        source = await self._source(run)
        if source is None:
            return {"outcome": "superseded"}
        if self._extractor is None:
            raise UnavailableError(
                "Extraction is off on this worker (RAGBASE_EXTRACTION).", code="extraction_off"
            )
        total = len(source.chunks)
        run.progress("extract", 0, total)
        found = await self._extractor.extract(
            source, lambda done, total: run.progress("extract", done, total)
        )
        _insist(found, total, last=run.job.attempts >= PATIENT_ATTEMPTS)
        run.progress("store", total, total)
        return await self._store(run, source, found)

    async def _source(self, run: JobRun) -> ExtractionSource | None:
        """The version that the job is for; None when it is gone."""
        document_id = run.job.document_id
        if document_id is None:  # deleted since
            return None
        async with self._database.read() as connection:
            chunks = await list_chunks(connection, document_id)
            collection = await get_collection(connection, run.job.collection or "")
        if collection is None:
            return None
        if not chunks or min(chunk.id for chunk in chunks) != run.job.payload["first_chunk"]:
            return None
        return ExtractionSource(
            document_id,
            chunks[0].document_title,
            [SourceChunk(chunk.id, chunk.content) for chunk in chunks],
            collection.language,
        )

    async def _store(self, run: JobRun, source: ExtractionSource, found: Extracted) -> JobResult:
        assert self._extractor is not None
        facts = [clean_facts(one) for one in found.facts]
        async with self._database.transaction() as connection:
            locked = await lock_chunks(connection, source.document_id)
            if locked is None or locked[1] != sorted(chunk.id for chunk in source.chunks):
                return {"outcome": "superseded"}
            counts = await write_facts(
                connection, source.document_id, locked[0], facts, self._extractor.name
            )
            result = {
                "outcome": "done",
                "extractor": self._extractor.name,
                **asdict(counts),
                **_unread(found.errors),
            }
            await run.commit(connection, result=result)
            return result


def _insist(found: Extracted, chunks: int, *, last: bool) -> None:
    """Raise for chunks that were not read, where another attempt may do better or none was."""
    may_heal = [error for error in found.errors if not isinstance(error, InvalidInputError)]
    if may_heal and not last:
        raise may_heal[0]
    if found.errors and len(found.errors) >= chunks:
        raise (may_heal or found.errors)[0]


def _unread(errors: Sequence[RagBaseError]) -> dict[str, object]:
    if not errors:
        return {}
    return {"unread_chunks": len(errors), "unread_because": errors[0].message}
