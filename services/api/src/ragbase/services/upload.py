"""Files: read in a process of their own, then stored like any document."""

from __future__ import annotations

import asyncio
import copy
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Self

from ragbase.errors import InvalidInputError
from ragbase.ingest.parse.characters import printable
from ragbase.ingest.parse.kinds import HEAD_BYTES, MEDIA_TYPES, FileKind, kind_of
from ragbase.ingest.parse.parsed import ParsedFile, unreadable
from ragbase.ingest.parse.parser import FileParser
from ragbase.ingest.parse.titles import stem
from ragbase.models.access import Access
from ragbase.models.documents import DocumentIn, IngestWarning
from ragbase.models.domain import Collection
from ragbase.models.jobs import Job
from ragbase.models.uploads import UploadFields
from ragbase.services.ingest import IngestLimits, IngestOutcome, IngestService
from ragbase.services.ingest_checks import check_metadata
from ragbase.services.ingest_run import counted, tell
from ragbase.services.jobs import JobService
from ragbase.services.jobs_run import JobRun
from ragbase.telemetry.metrics import observe_ingest_stage

__all__ = ["TASK", "Upload", "UploadBounds", "UploadService"]

TASK = "upload"
"""The name under which a worker finds what to do."""
_BLOBS_AT_ONCE = 2
"""Files held in memory whole on their way into the queue."""


@dataclass(frozen=True, slots=True)
class UploadBounds:
    """Most bytes of a file, and of each field that comes with it."""

    file_bytes: int
    field_bytes: int


@dataclass(frozen=True, slots=True)
class Upload:
    """A file, open for reading at its start, and what came with it.

    ``name`` is without folders; ``media_type`` is what the sender declared.
    """

    file: BinaryIO
    size: int
    name: str
    media_type: str | None
    fields: UploadFields

    def head(self) -> bytes:
        """The first bytes; the file stays at its start."""
        head = self.file.read(HEAD_BYTES)
        self.file.seek(0)
        return head


class UploadService:
    """Stores files as documents."""

    def __init__(
        self,
        parser: FileParser,
        ingest: IngestService,
        jobs: JobService,
        *,
        bounds: UploadBounds,
        limits: IngestLimits,
    ) -> None:
        self.bounds = bounds
        self._parser = parser
        self._ingest = ingest
        self._jobs = jobs
        self._limits = limits
        self._blobs = asyncio.Semaphore(_BLOBS_AT_ONCE)

    def seen_by(self, access: Access) -> Self:
        """The same, for another caller."""
        bound = copy.copy(self)
        bound._ingest = self._ingest.seen_by(access)
        bound._jobs = self._jobs.seen_by(access)
        return bound

    async def create(self, upload: Upload, run: JobRun | None = None) -> IngestOutcome:
        """Store a file, replacing the document of the same ``external_id``.

        Raises what `FileParser.parse` and `IngestService.create` raise.
        """
        if run is None:
            await self._check(upload)
        tell(run, "parse")
        with counted(run), observe_ingest_stage("parse"):
            kind, parsed = await self._parser.parse(
                upload.file, upload.size, upload.name, upload.media_type
            )
            body, warnings = self._document(upload, kind, parsed)
        return await self._ingest.create(body, run, warnings)

    async def submit(self, upload: Upload) -> Job:
        """Leave it to a worker. Raises what shows at once, so that no job fails for it later."""
        collection = await self._check(upload)
        async with self._blobs:
            blob = await asyncio.to_thread(upload.file.read)
            return await self._jobs.submit("ingest", collection, _payload(upload), blob, task=TASK)

    async def resume(self, payload: Mapping[str, Any], blob: bytes, run: JobRun) -> IngestOutcome:
        """Do what `submit` left."""
        fields = UploadFields.model_validate(payload["fields"])
        upload = Upload(io.BytesIO(blob), len(blob), payload["name"], payload["media_type"], fields)
        return await self.create(upload, run)

    async def _check(self, upload: Upload) -> Collection:
        """The collection, after all checks that need no more than the file's first bytes."""
        with counted(None):
            kind_of(await asyncio.to_thread(upload.head), upload.name, upload.media_type)
        return await self._ingest.check(
            _body(upload.fields, "title", "text", upload.fields.metadata)
        )

    def _document(
        self, upload: Upload, kind: FileKind, parsed: ParsedFile
    ) -> tuple[DocumentIn, tuple[IngestWarning, ...]]:
        if not parsed.content.strip():
            code = "blank" if kind in ("text", "markdown", "csv") else "no_text"
            raise unreadable("The file holds no text.", code)
        warnings = [IngestWarning(code=w.code, message=w.message) for w in parsed.warnings]
        title = printable(parsed.title) or printable(stem(upload.name)) or "untitled"
        own = _own_metadata(kind, parsed)
        try:
            metadata = check_metadata({**own, **upload.fields.metadata}, self._limits)
        except InvalidInputError as error:  # given ones are sound: they were checked before
            metadata = upload.fields.metadata
            message = f"What the file says of itself is left out: {error.message}"
            warnings.append(IngestWarning(code="file_metadata_left_out", message=message))
        return _body(upload.fields, title, parsed.content, metadata), tuple(warnings)


def _own_metadata(kind: FileKind, parsed: ParsedFile) -> dict[str, Any]:
    facts = parsed.metadata.get("file")
    about = {"media_type": MEDIA_TYPES[kind], **(facts if isinstance(facts, dict) else {})}
    return {**parsed.metadata, "file": about}


def _body(fields: UploadFields, title: str, content: str, metadata: dict[str, Any]) -> DocumentIn:
    return DocumentIn(
        title=fields.title or title,
        content=content,
        metadata=metadata,
        **fields.model_dump(exclude={"title", "metadata"}, exclude_unset=True),
    )


def _payload(upload: Upload) -> dict[str, Any]:
    fields = upload.fields.model_dump(mode="json", exclude_unset=True)
    return {"name": upload.name, "media_type": upload.media_type, "fields": fields}
