"""What routes ask for: the wired services, as annotated types."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from pydantic import BeforeValidator

from ragbase.limits import COLLECTION_NAME
from ragbase.services.batch import BatchService
from ragbase.services.collections import CollectionService
from ragbase.services.documents import DocumentService
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.health import HealthService
from ragbase.services.ingest import IngestService
from ragbase.services.search import SearchService

__all__ = [
    "AllServices",
    "Batches",
    "CollectionName",
    "Collections",
    "DocumentId",
    "Documents",
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
    batches: BatchService
    documents: DocumentService
    search: SearchService
    collections: CollectionService
    embedding: EmbeddingRuntime
    health: HealthService
    max_batch: int


# Coroutines, though they wait for nothing: FastAPI hands plain functions to a thread, which costs
# each request more than all else that it does before the route.


async def _services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


async def _ingest(request: Request) -> IngestService:
    return (await _services(request)).ingest


async def _batches(request: Request) -> BatchService:
    return (await _services(request)).batches


async def _documents(request: Request) -> DocumentService:
    return (await _services(request)).documents


async def _search(request: Request) -> SearchService:
    return (await _services(request)).search


async def _collections(request: Request) -> CollectionService:
    return (await _services(request)).collections


async def _health(request: Request) -> HealthService:
    return (await _services(request)).health


AllServices = Annotated[Services, Depends(_services)]
Ingest = Annotated[IngestService, Depends(_ingest)]
Batches = Annotated[BatchService, Depends(_batches)]
Documents = Annotated[DocumentService, Depends(_documents)]
Search = Annotated[SearchService, Depends(_search)]
Collections = Annotated[CollectionService, Depends(_collections)]
Healths = Annotated[HealthService, Depends(_health)]


def _plain_digits(value: object) -> object:
    """Python reads ``1_0``, ``+1`` and ``1.0`` as numbers; a caller who sends them is mistaken."""
    if isinstance(value, str) and not re.fullmatch(r"-?[0-9]+", value):
        raise ValueError("an id is a whole number in plain digits")
    return value


DocumentId = Annotated[
    int,
    BeforeValidator(_plain_digits, json_schema_input_type=int),
    Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Document id."),
]
CollectionName = Annotated[str, Path(max_length=63, pattern=f"^{COLLECTION_NAME}$")]
