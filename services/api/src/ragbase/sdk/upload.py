"""Many documents in: bounded concurrency, each failure kept, one lost server stops all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragbase.models.documents import DocumentOut
from ragbase.sdk.asynchronous import AsyncClient
from ragbase.sdk.errors import ApiError, TimedOutError
from ragbase.sdk.options import DocumentOptions

__all__ = ["Draft", "Failure", "FileDraft", "Source", "Tally", "upload"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A document to upload; its ``external_id`` makes a repeat cost nothing."""

    external_id: str
    title: str
    content: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileDraft:
    """A file to upload; the server reads it, and finds title and metadata in it."""

    external_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class Source:
    """A document not read yet. ``load`` raises `OSError` or `ValueError` when it cannot be.

    It returns None for a document without any text, which is skipped and counted.
    """

    name: str
    load: Callable[[], Draft | FileDraft | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that was not stored, and why."""

    name: str
    reason: str


@dataclass(slots=True)
class Tally:
    """What became of the documents so far."""

    created: int = 0
    replaced: int = 0
    unchanged: int = 0
    blank: int = 0
    chunks: int = 0
    failures: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Documents dealt with, blank and failed ones included."""
        return self.stored + self.blank + len(self.failures)

    @property
    def stored(self) -> int:
        """Documents that the server now holds."""
        return self.created + self.replaced + self.unchanged

    def add(self, name: str, document: DocumentOut) -> None:
        """Count a stored document."""
        match document.outcome:
            case "unchanged":
                self.unchanged += 1
            case "replaced":
                self.replaced += 1
            case _:
                self.created += 1
        self.chunks += document.chunk_count
        self.warnings += [Failure(name, warning.message) for warning in document.warnings]


async def upload(
    client: AsyncClient,
    sources: Iterable[Source],
    *,
    collection: str | None = None,
    contextual_retrieval: bool | None = None,
    jobs: int = 4,
    on_done: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Store all sources, at most ``jobs`` at once; each is read only when its turn comes.

    ``contextual_retrieval`` None: as the collection says.

    A document that cannot be read, is refused or takes too long is a `Failure` and the rest goes
    on. A server that cannot be reached raises `ConnectionFailedError`; running again resumes.
    """
    tally = Tally()
    waiting = iter(sources)
    options: DocumentOptions = {}
    if collection is not None:
        options["collection"] = collection
    if contextual_retrieval is not None:
        options["contextual_retrieval"] = contextual_retrieval

    async def work() -> None:
        for source in waiting:
            await _store(client, source, options, tally)
            on_done(tally)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(jobs):
                group.create_task(work())
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return tally


async def _store(
    client: AsyncClient, source: Source, options: DocumentOptions, tally: Tally
) -> None:
    try:
        draft = source.load()
        if draft is None:
            tally.blank += 1
            return
        document = await _send(client, draft, options)
    except ApiError as error:
        if error.code == "blank" and isinstance(draft, FileDraft):
            tally.blank += 1
            return
        if error.status in (401, 403) or error.code == "collection_not_found":
            raise  # the same for every document
        tally.failures.append(Failure(source.name, error.message))
    except (OSError, ValueError, TimedOutError) as error:
        tally.failures.append(Failure(source.name, _reason(error)))
    else:
        tally.add(source.name, document)


async def _send(
    client: AsyncClient, draft: Draft | FileDraft, options: DocumentOptions
) -> DocumentOut:
    own: DocumentOptions = {**options, "external_id": draft.external_id}
    if isinstance(draft, FileDraft):
        return await client.documents.upload(draft.path, **own)
    own["metadata"] = draft.metadata
    return await client.documents.create(draft.title, draft.content, **own)


def _reason(error: Exception) -> str:
    """An `OSError` without its number; the path is named anyway."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
