"""What routes ask for: the wired services, as annotated types, bound to what the caller may see.

All but health are handed out only where the route has checked a scope (`ragbase.routes.auth`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Annotated, cast

from fastapi import Depends, Path, Request
from pydantic import BeforeValidator

from ragbase.limits import COLLECTION_NAME
from ragbase.models.access import Access
from ragbase.routes.auth import bound_access
from ragbase.services.batch import BatchService
from ragbase.services.collections import CollectionService
from ragbase.services.concept_relations import ConceptRelationService
from ragbase.services.concepts import ConceptService
from ragbase.services.context_fill import ContextFill
from ragbase.services.deletion import DeletionService
from ragbase.services.documents import DocumentService
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.entities import EntityService
from ragbase.services.graph_extraction import GraphExtraction
from ragbase.services.graph_reads import GraphReadService
from ragbase.services.graph_search import GraphSearchService
from ragbase.services.graph_wait import GraphWait
from ragbase.services.health import HealthService
from ragbase.services.ingest import IngestService
from ragbase.services.jobs import JobService
from ragbase.services.keys import KeyService
from ragbase.services.keys_verify import KeyVerifier
from ragbase.services.llm import LanguageModels
from ragbase.services.localrag.services import LocalragServices
from ragbase.services.projection_rebuild import ProjectionRebuild
from ragbase.services.rerank import RerankService
from ragbase.services.search import SearchService
from ragbase.services.stats import StatsService
from ragbase.services.upload import UploadService

__all__ = [
    "AllServices",
    "Batches",
    "CollectionName",
    "Collections",
    "ConceptId",
    "ConceptRelations",
    "Concepts",
    "Deletion",
    "DocumentId",
    "Documents",
    "Entities",
    "EntityId",
    "GraphReads",
    "GraphSearch",
    "Healths",
    "Ingest",
    "JobId",
    "Jobs",
    "Keys",
    "NodeId",
    "RelationId",
    "Rerank",
    "Search",
    "Services",
    "Stats",
    "Uploads",
]

MAX_BIGINT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Services:
    """All use cases of the API, wired by `ragbase.factory`."""

    ingest: IngestService
    batches: BatchService
    uploads: UploadService
    deletion: DeletionService
    documents: DocumentService
    jobs: JobService
    search: SearchService
    graph_search: GraphSearchService
    rerank: RerankService
    stats: StatsService
    collections: CollectionService
    entities: EntityService
    concepts: ConceptService
    concept_relations: ConceptRelationService
    graph_reads: GraphReadService
    embedding: EmbeddingRuntime
    health: HealthService
    keys: KeyService
    llms: LanguageModels
    contexts: ContextFill
    max_batch: int
    extraction: GraphExtraction
    graph_wait: GraphWait
    localrag: LocalragServices | None = None
    """None: the second API is not served by this process."""
    projection: ProjectionRebuild | None = None
    """None: the graph is not projected."""
    verifier: KeyVerifier | None = None
    """None: authentication is off."""

    def seen_by(self, access: Access) -> Services:
        """The same, bound to what ``access`` may see."""
        return replace(
            self,
            ingest=self.ingest.seen_by(access),
            uploads=self.uploads.seen_by(access),
            documents=self.documents.seen_by(access),
            jobs=self.jobs.seen_by(access),
            search=self.search.seen_by(access),
            graph_search=self.graph_search.seen_by(access),
            collections=self.collections.seen_by(access),
            entities=self.entities.seen_by(access),
            concepts=self.concepts.seen_by(access),
            concept_relations=self.concept_relations.seen_by(access),
            graph_reads=self.graph_reads.seen_by(access),
            batches=self.batches.seen_by(access),
            deletion=self.deletion.seen_by(access),
            stats=self.stats.seen_by(access),
        )


# Coroutines, though they wait for nothing: FastAPI hands plain functions to a thread, which costs
# each request more than all else that it does before the route.


def _services(request: Request) -> Services:
    return cast(Services, request.app.state.services)


async def _all(request: Request) -> Services:
    return _services(request).seen_by(bound_access(request))


async def _ingest(request: Request) -> IngestService:
    return _services(request).ingest.seen_by(bound_access(request))


async def _batches(request: Request) -> BatchService:
    return _services(request).batches.seen_by(bound_access(request))


async def _deletion(request: Request) -> DeletionService:
    return _services(request).deletion.seen_by(bound_access(request))


async def _uploads(request: Request) -> UploadService:
    return _services(request).uploads.seen_by(bound_access(request))


async def _documents(request: Request) -> DocumentService:
    return _services(request).documents.seen_by(bound_access(request))


async def _jobs(request: Request) -> JobService:
    return _services(request).jobs.seen_by(bound_access(request))


async def _search(request: Request) -> SearchService:
    return _services(request).search.seen_by(bound_access(request))


async def _graph_search(request: Request) -> GraphSearchService:
    return _services(request).graph_search.seen_by(bound_access(request))


async def _rerank(request: Request) -> RerankService:
    bound_access(request)
    return _services(request).rerank


async def _stats(request: Request) -> StatsService:
    return _services(request).stats.seen_by(bound_access(request))


async def _collections(request: Request) -> CollectionService:
    return _services(request).collections.seen_by(bound_access(request))


async def _entities(request: Request) -> EntityService:
    return _services(request).entities.seen_by(bound_access(request))


async def _concepts(request: Request) -> ConceptService:
    return _services(request).concepts.seen_by(bound_access(request))


async def _concept_relations(request: Request) -> ConceptRelationService:
    return _services(request).concept_relations.seen_by(bound_access(request))


async def _graph_reads(request: Request) -> GraphReadService:
    return _services(request).graph_reads.seen_by(bound_access(request))


async def _keys(request: Request) -> KeyService:
    bound_access(request)
    return _services(request).keys


async def _health(request: Request) -> HealthService:
    return _services(request).health


AllServices = Annotated[Services, Depends(_all)]
Ingest = Annotated[IngestService, Depends(_ingest)]
Batches = Annotated[BatchService, Depends(_batches)]
Deletion = Annotated[DeletionService, Depends(_deletion)]
Uploads = Annotated[UploadService, Depends(_uploads)]
Documents = Annotated[DocumentService, Depends(_documents)]
Jobs = Annotated[JobService, Depends(_jobs)]
Search = Annotated[SearchService, Depends(_search)]
GraphSearch = Annotated[GraphSearchService, Depends(_graph_search)]
Rerank = Annotated[RerankService, Depends(_rerank)]
Stats = Annotated[StatsService, Depends(_stats)]
Collections = Annotated[CollectionService, Depends(_collections)]
Entities = Annotated[EntityService, Depends(_entities)]
Concepts = Annotated[ConceptService, Depends(_concepts)]
ConceptRelations = Annotated[ConceptRelationService, Depends(_concept_relations)]
GraphReads = Annotated[GraphReadService, Depends(_graph_reads)]
Keys = Annotated[KeyService, Depends(_keys)]
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
EntityId = Annotated[
    int,
    BeforeValidator(_plain_digits, json_schema_input_type=int),
    Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Entity id."),
]
ConceptId = Annotated[
    int,
    BeforeValidator(_plain_digits, json_schema_input_type=int),
    Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Concept id."),
]
NodeId = Annotated[
    int,
    BeforeValidator(_plain_digits, json_schema_input_type=int),
    Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Id of a concept or entity."),
]
RelationId = Annotated[
    int,
    BeforeValidator(_plain_digits, json_schema_input_type=int),
    Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Relation id."),
]
JobId = Annotated[
    int,
    BeforeValidator(_plain_digits, json_schema_input_type=int),
    Path(ge=-MAX_BIGINT - 1, le=MAX_BIGINT, description="Job id."),
]
CollectionName = Annotated[str, Path(max_length=63, pattern=f"^{COLLECTION_NAME}$")]
