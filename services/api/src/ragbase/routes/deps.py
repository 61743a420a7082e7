"""What routes ask for: the wired services, as annotated types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request

from ragbase.services.collections import CollectionService
from ragbase.services.documents import DocumentService
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.health import HealthService
from ragbase.services.ingest import IngestService
from ragbase.services.search import SearchService

__all__ = [
    "AllServices",
    "CollectionName",
    "Collections",
    "DocumentId",
    "Documents",
    "Embedding",
    "Healths",
    "Ingest",
    "Search",
    "Services",
]

MAX_BIGINT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Services:
    """All use cases of the API, wired by `ragbase.factory`."""

    ingest: IngestService
    documents: DocumentService
    search: SearchService
    collections: CollectionService
    embedding: EmbeddingRuntime
    health: HealthService
    max_batch: int


def _services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


AllServices = Annotated[Services, Depends(_services)]


def _ingest(services: AllServices) -> IngestService:
    return services.ingest


def _documents(services: AllServices) -> DocumentService:
    return services.documents


def _search(services: AllServices) -> SearchService:
    return services.search


def _collections(services: AllServices) -> CollectionService:
    return services.collections


def _embedding(services: AllServices) -> EmbeddingRuntime:
    return services.embedding


def _health(services: AllServices) -> HealthService:
    return services.health


Ingest = Annotated[IngestService, Depends(_ingest)]
Documents = Annotated[DocumentService, Depends(_documents)]
Search = Annotated[SearchService, Depends(_search)]
Collections = Annotated[CollectionService, Depends(_collections)]
Embedding = Annotated[EmbeddingRuntime, Depends(_embedding)]
Healths = Annotated[HealthService, Depends(_health)]

DocumentId = Annotated[int, Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Document id.")]
CollectionName = Annotated[str, Path(max_length=63, pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
