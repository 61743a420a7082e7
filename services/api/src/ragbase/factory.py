"""The only place that wires: from settings to the services that routes call."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache, partial

from ragbase.clients.embedder import Embedder
from ragbase.clients.gguf import GgufModels
from ragbase.clients.select import open_embedder
from ragbase.clients.select_reranker import select_rerankers
from ragbase.errors import ConfigurationError
from ragbase.factory_graph import open_extraction, query_names
from ragbase.factory_limits import (
    batch_limits,
    context_rules,
    parse_limits,
    rerank_limits,
    upload_bounds,
)
from ragbase.factory_localrag import open_localrag
from ragbase.factory_projection import OpenStores, open_stores
from ragbase.graph.presence import GraphPresence
from ragbase.ingest.parse.parser import FileParser
from ragbase.limits import NEW_COLLECTION_FUSION
from ragbase.retrieval.arms import KeywordArm, SemanticArm
from ragbase.retrieval.graph_arm import GraphArm
from ragbase.retrieval.lexical import LexicalDialect, open_dialect
from ragbase.retrieval.query_names import QueryNames
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.routes.deps import Services
from ragbase.services.batch import BatchService
from ragbase.services.collections import CollectionService
from ragbase.services.concept_relations import ConceptRelationService
from ragbase.services.concepts import ConceptService
from ragbase.services.context_fill import ContextFill
from ragbase.services.contextual import ContextWriter
from ragbase.services.deletion import DeletionService
from ragbase.services.document_contexts import DocumentContexts
from ragbase.services.documents import DocumentService
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.entities import EntityService
from ragbase.services.graph_extraction import GraphExtraction
from ragbase.services.graph_reads import GraphReadService
from ragbase.services.graph_search import GraphSearchService
from ragbase.services.graph_wait import GraphWait
from ragbase.services.health import HealthService, Probe
from ragbase.services.ingest import IngestLimits, IngestService
from ragbase.services.jobs import JobLimits, JobService
from ragbase.services.jobs_gauges import JobGauges
from ragbase.services.keys import KeyService
from ragbase.services.keys_given import given_keys
from ragbase.services.keys_verify import KeyVerifier
from ragbase.services.known_collections import KnownCollections
from ragbase.services.llm import LanguageModels
from ragbase.services.llm_open import language_models
from ragbase.services.named_reranker import NamedReranker
from ragbase.services.recipe import Recipe
from ragbase.services.rerank import RerankService
from ragbase.services.rerankers import Rerankers
from ragbase.services.search import SearchService
from ragbase.services.search_rerank import RerankStage
from ragbase.services.stats import StatsService
from ragbase.services.upkeep import Upkeep
from ragbase.services.upload import UploadService
from ragbase.settings import Settings
from ragbase.storage.api_keys import any_usable_key
from ragbase.storage.embedding_models import EmbeddingModel
from ragbase.storage.extractions import expire_answers
from ragbase.storage.migrations import check_schema
from ragbase.storage.migrations.awaited import await_schema, require_current
from ragbase.storage.pool import Connection, Database
from ragbase.telemetry.logs import get_logger
from ragbase.text.prompts import Prompts
from ragbase.worker.handlers import handlers
from ragbase.worker.worker import Worker, WorkerOptions

__all__ = ["open_services", "open_worker"]

RERANK_OFF = "Reranking is off on this server (RERANK_ENABLED=false)"

_log = get_logger("ragbase.start")


@asynccontextmanager
async def open_services(
    settings: Settings,
    embedder: Embedder | None = None,
    *,
    localrag: bool = False,
    gguf: GgufModels | None = None,
) -> AsyncIterator[Services]:
    """Open everything the API needs, and close it at the end.

    An ``embedder`` given here is used instead of the one the settings name, and stays open.
    ``localrag``: the second API is served, too; ``gguf`` are its models, instead of those that the
    settings name.

    Raises `ConfigurationError` or `DatabaseUnavailableError` when it cannot start.
    """
    async with AsyncExitStack() as stack:
        services, database = await _open(
            settings, embedder, stack, serve=True, localrag=localrag, gguf=gguf
        )
        if settings.workers:
            worker = _worker(settings, services, database, concurrency=settings.workers)
            worker.start()
            stack.push_async_callback(worker.stop)
        yield services


@asynccontextmanager
async def open_worker(
    settings: Settings, embedder: Embedder | None = None
) -> AsyncIterator[Worker]:
    """Open what jobs need, without an API; the worker is started, and stopped at the end.

    See `open_services`.
    """
    async with AsyncExitStack() as stack:
        services, database = await _open(settings, embedder, stack, serve=False)
        worker = _worker(settings, services, database, concurrency=settings.worker_jobs)
        worker.start()
        stack.push_async_callback(worker.stop)
        yield worker


async def _open(
    settings: Settings,
    embedder: Embedder | None,
    stack: AsyncExitStack,
    *,
    serve: bool,
    localrag: bool = False,
    gguf: GgufModels | None = None,
) -> tuple[Services, Database]:
    prompts = Prompts.load(settings.prompts_dir)
    llms = language_models(settings)
    stack.push_async_callback(llms.aclose)
    embedder, database = await _open_both(settings, stack, embedder)
    dialect = await _open_dialect(database, settings)
    embedding = EmbeddingRuntime(
        embedder,
        database,
        hnsw_m=settings.hnsw_m,
        hnsw_ef_construction=settings.hnsw_ef_construction,
    )
    await _start_embedding(embedding, stack, wait=settings.engine == "onnx")
    verifier = await _start_verifier(settings, database, stack) if serve else None
    parser = FileParser(parse_limits(settings))
    stack.push_async_callback(parser.aclose)
    rerankers = _open_rerankers(settings) if serve else Rerankers()  # jobs rank nothing
    stack.push_async_callback(rerankers.aclose)
    extraction = open_extraction(settings, database, llms, stack)
    graph = open_stores(settings, database, stack)
    services = _wire(
        settings,
        database,
        dialect,
        embedding,
        verifier,
        parser,
        rerankers,
        llms,
        prompts,
        extraction,
        query_names(settings, llms, prompts, stack),
        graph,
    )
    if localrag:
        parts = (database, embedding, rerankers, llms, prompts)
        second = open_localrag(settings, *parts, stack, gguf)
        await second.files.check_model()
        services = replace(services, localrag=second)
    if settings.workers or not serve:  # where jobs are done, the graph is projected, too
        graph.project(settings, database, stack)
    await services.health.start()
    stack.push_async_callback(services.health.stop)
    upkeep, gauges = Upkeep(database, _maintained(dialect, settings)), JobGauges(database)
    for background in (upkeep, gauges):
        background.start()
        stack.push_async_callback(background.stop)
    return services, database


def _worker(
    settings: Settings, services: Services, database: Database, *, concurrency: int
) -> Worker:
    return Worker(
        database,
        handlers(
            ingest=services.ingest,
            deletion=services.deletion,
            uploads=services.uploads,
            extraction=services.extraction,
            contexts=services.contexts,
            projection=services.projection,
        ),
        dsn=settings.database_url.get_secret_value(),
        options=WorkerOptions(
            concurrency=concurrency,
            side_concurrency=settings.side_jobs,
            lease_s=settings.job_lease_s,
            grace_s=settings.worker_grace_s,
            kept_s=settings.job_retention_days * 24 * 3600,
        ),
    )


async def _open_both(
    settings: Settings, stack: AsyncExitStack, given: Embedder | None
) -> tuple[Embedder, Database]:
    """Model and connections at the same time: a start costs the slower of the two."""
    dsn = settings.database_url.get_secret_value()
    if not dsn:
        raise ConfigurationError(
            "DATABASE_URL is not set. Set it to postgresql://user:password@host:5432/database, or "
            "use `ragbase up`, which brings a Postgres of its own."
        )
    loading = None if given is not None else asyncio.create_task(open_embedder(settings))
    try:
        if settings.schema_wait_s:
            await await_schema(dsn, settings.schema_wait_s)
        database = await Database.open(
            dsn,
            min_size=settings.pool_min,
            max_size=settings.pool_max,
            statement_timeout_s=settings.statement_timeout_s,
            ef_search=settings.ef_search,
        )
    except BaseException:
        if loading is not None:
            loading.cancel()
        raise
    stack.push_async_callback(database.close)
    if loading is None:
        assert given is not None
        return given, database
    embedder = await loading
    stack.push_async_callback(embedder.aclose)
    return embedder, database


async def _open_dialect(database: Database, settings: Settings) -> LexicalDialect:
    async with database.transaction() as connection:
        require_current(await check_schema(connection))
        dialect = await open_dialect(connection, settings.lexical)
        for step in await dialect.prepare(connection):
            _log.warning("keyword_index_healed", step=step)
    database.write_with(dialect.writer_settings)
    return dialect


async def _start_embedding(
    embedding: EmbeddingRuntime, stack: AsyncExitStack, *, wait: bool
) -> None:
    """In-process: ready before we are. Remote: keep trying while keyword search already works."""
    if wait:
        await embedding.open()
        return
    task = asyncio.create_task(embedding.keep_trying())

    async def stop() -> None:
        task.cancel()
        await asyncio.wait([task])

    stack.push_async_callback(stop)


async def _start_verifier(
    settings: Settings, database: Database, stack: AsyncExitStack
) -> KeyVerifier | None:
    """Checks API keys; None where authentication is off. Says what is missing to get in."""
    given = given_keys(settings)
    if not settings.auth_on:
        if given:
            _log.warning("api_keys_unused", hint="Keys are given, but RAGBASE_AUTH is off.")
        return None
    async with database.read() as connection:
        stored = await any_usable_key(connection)
    _log.info("authentication_on", given=[key.name for key in given.values()], stored=stored)
    if not given and not stored:
        _log.warning(
            "no_api_key_known",
            hint="Make the first one with `ragbase keys create --name admin --scope admin` beside "
            "this server (same DATABASE_URL or --home), or give RAGBASE_ADMIN_KEY.",
        )
    verifier = KeyVerifier(database, given)
    verifier.start()
    stack.push_async_callback(verifier.stop)
    return verifier


def _wire(
    settings: Settings,
    database: Database,
    dialect: LexicalDialect,
    embedding: EmbeddingRuntime,
    verifier: KeyVerifier | None,
    parser: FileParser,
    rerankers: Rerankers,
    llms: LanguageModels,
    prompts: Prompts,
    extraction: GraphExtraction,
    names: QueryNames,
    graph: OpenStores,
) -> Services:
    known = KnownCollections(database)
    presence = GraphPresence(database)
    collections = CollectionService(
        database, embedding, known, default_fusion=NEW_COLLECTION_FUSION
    )

    @cache
    def index_of(model: EmbeddingModel) -> SemanticIndex:
        return SemanticIndex(model.id, model.dimension, settings.ef_search)

    writer = ContextWriter(database, llms, prompts, context_rules(settings))
    limits = IngestLimits(settings.max_text_chars, settings.max_metadata_bytes)
    ingest = IngestService(
        database,
        embedding,
        collections,
        recipe=Recipe(settings.chunk_size, settings.chunk_overlap),
        limits=limits,
        extraction=extraction,
        contexts=DocumentContexts(database, embedding, writer, attempts=settings.job_attempts),
    )
    jobs = JobService(
        database,
        limits=JobLimits(
            per_collection=settings.max_queued_per_collection,
            total=settings.max_queued,
            attempts=settings.job_attempts,
        ),
    )
    return Services(
        ingest=ingest,
        batches=BatchService(ingest, jobs, batch_limits(settings)),
        deletion=DeletionService(database, collections, ids_max=settings.max_batch),
        documents=DocumentService(database, collections),
        jobs=jobs,
        uploads=UploadService(parser, ingest, jobs, bounds=upload_bounds(settings), limits=limits),
        search=SearchService(
            database,
            settings,
            embedder=embedding.embedder,
            semantic=SemanticArm(database, lambda: index_of(embedding.model)),
            keyword=KeywordArm(database, dialect),
            known=known,
            graph=GraphArm(database, presence, names, settings.graph_timeout_s)
            if settings.graph_enabled
            else None,
            rerank=RerankStage(rerankers, settings.rerank_text, settings.rerank_timeout_s),
        ),
        graph_search=GraphSearchService(
            database,
            settings,
            presence=presence,
            names=names,
            known=known,
            stores=graph.stores,
        ),
        rerank=RerankService(rerankers, rerank_limits(settings)),
        stats=StatsService(database),
        collections=collections,
        entities=EntityService(database, collections),
        concepts=ConceptService(database, collections, limits, enabled=settings.graph_enabled),
        concept_relations=ConceptRelationService(
            database, collections, limits, enabled=settings.graph_enabled
        ),
        graph_reads=GraphReadService(
            database,
            collections,
            graph.stores,
            timeout_s=settings.graph_timeout_s,
            enabled=settings.graph_enabled,
        ),
        embedding=embedding,
        health=_health(database, dialect, embedding, rerankers, llms, graph),
        keys=KeyService(database, *([verifier.forget] if verifier else [])),
        llms=llms,
        contexts=ContextFill(database, embedding, writer),
        max_batch=settings.max_batch,
        extraction=extraction,
        graph_wait=GraphWait(always=settings.wait_for_graph, longest_s=settings.graph_wait_s),
        projection=graph.rebuild(database),
        verifier=verifier,
    )


def _maintained(
    dialect: LexicalDialect, settings: Settings
) -> Callable[[Connection], Awaitable[None]]:
    async def maintain(connection: Connection) -> None:
        await dialect.maintain(connection)
        await expire_answers(connection, kept_s=settings.llm_cache_days * 24 * 3600)

    return maintain


def _open_rerankers(settings: Settings) -> Rerankers:
    named = {
        name: NamedReranker(
            name,
            selected.client,
            timeout_s=selected.timeout_s,
            fallback=selected.fallback,
            on_demand=selected.on_demand,
        )
        for name, selected in select_rerankers(settings).items()
    }
    return Rerankers(named) if settings.rerank_enabled else Rerankers(missing=RERANK_OFF)


def _health(
    database: Database,
    dialect: LexicalDialect,
    embedding: EmbeddingRuntime,
    rerankers: Rerankers,
    llms: LanguageModels,
    graph: OpenStores,
) -> HealthService:
    async def schema() -> None:
        async with database.read() as connection:
            require_current(await check_schema(connection))

    probes: dict[str, Probe] = {"postgres": database.ping, "embedding": embedding.embedder.ping}
    if graph.projection is not None:
        probes["memgraph"] = graph.projection.probe
    health = HealthService(
        probes,
        embedding,
        schema=schema,
        lexical=dialect.name,
        rerankers=rerankers.all,
        llms=llms.servers,
    )
    if graph.projection is not None:
        graph.projection.failed = partial(health.look_soon, "memgraph")
    return health
