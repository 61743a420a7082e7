"""Prometheus metrics of the API and worker. Every label has a bounded set of values.

The names are an interface: dashboards and alerts read them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
)

__all__ = [
    "REGISTRY",
    "count_contexts",
    "count_degraded",
    "count_ingested",
    "count_llm_request",
    "count_llm_tokens",
    "count_reranked",
    "observe_ingest_stage",
    "observe_search",
    "observe_stage",
    "set_dependency",
]

disable_created_metrics()  # type: ignore[no-untyped-call]  # a series more a counter, unasked
REGISTRY = CollectorRegistry(auto_describe=True)
ProcessCollector(registry=REGISTRY)  # memory, processor time, open files; nothing but on Linux

LLM_BUCKETS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
"""Seconds; from one index look-up to a slow reranker."""

HTTP_REQUESTS = Counter(
    "ragbase_http_requests",
    "Requests by route template.",
    ["method", "route", "status"],
    registry=REGISTRY,
)
HTTP_SECONDS = Histogram(
    "ragbase_http_request_seconds",
    "Time from request to last byte.",
    ["method", "route"],
    buckets=BUCKETS,
    registry=REGISTRY,
)
HTTP_INFLIGHT = Gauge("ragbase_http_inflight", "Requests being worked on.", registry=REGISTRY)
HTTP_SHED = Counter("ragbase_http_shed", "Requests answered 429.", registry=REGISTRY)
SEARCH_SECONDS = Histogram(
    "ragbase_search_seconds", "Time of a search.", ["mode"], buckets=BUCKETS, registry=REGISTRY
)
STAGE_SECONDS = Histogram(
    "ragbase_search_stage_seconds",
    "Time of one stage of a search.",
    ["stage", "mode"],
    buckets=BUCKETS,
    registry=REGISTRY,
)
DEGRADED = Counter(
    "ragbase_degraded", "Answers that went without something.", ["reason"], registry=REGISTRY
)
RERANKER_REQUESTS = Counter(
    "ragbase_reranker_requests",
    "Rankings asked of a reranker, by its configured name.",
    ["model", "outcome"],
    registry=REGISTRY,
)
LLM_TOKENS = Counter(
    "ragbase_llm_tokens",
    "Tokens by direction: input, output, and cached, the part of input that the server had ready.",
    ["purpose", "direction"],
    registry=REGISTRY,
)
LLM_REQUESTS = Counter(
    "ragbase_llm_requests",
    "Completions asked of the language model.",
    ["purpose", "outcome"],
    registry=REGISTRY,
)
LLM_SECONDS = Histogram(
    "ragbase_llm_seconds",
    "Time of a completion, retries included.",
    ["purpose"],
    buckets=LLM_BUCKETS,
    registry=REGISTRY,
)
CONTEXTS = Counter(
    "ragbase_context_lines",
    "Chunks that should have a context line: made, cached, failed.",
    ["outcome"],
    registry=REGISTRY,
)
DEPENDENCY_UP = Gauge(
    "ragbase_dependency_up",
    "1 when the last probe of a dependency succeeded.",
    ["dependency"],
    registry=REGISTRY,
)
INGESTED = Counter(
    "ragbase_ingest_documents", "Documents by outcome.", ["outcome"], registry=REGISTRY
)
INGEST_SECONDS = Histogram(
    "ragbase_ingest_stage_seconds",
    "Time of one stage of ingesting a document.",
    ["stage"],
    buckets=BUCKETS,
    registry=REGISTRY,
)
JOBS = Gauge("ragbase_jobs", "Jobs in the database by state.", ["kind", "state"], registry=REGISTRY)
JOB_OLDEST = Gauge(
    "ragbase_job_oldest_seconds",
    "How long the oldest queued job has waited.",
    ["kind"],
    registry=REGISTRY,
)
INDEX_DOCUMENTS = Gauge("ragbase_index_documents", "Documents stored.", registry=REGISTRY)
INDEX_CHUNKS = Gauge("ragbase_index_chunks", "Chunks stored.", registry=REGISTRY)
INDEX_ENTITIES = Gauge("ragbase_index_entities", "Entities stored.", registry=REGISTRY)
PROJECTION_LAG = Gauge(
    "ragbase_projection_lag_rows",
    "Notes of changes that the graph's projection has still to follow.",
    registry=REGISTRY,
)
POOL_IN_USE = Gauge("ragbase_db_pool_in_use", "Connections taken.", registry=REGISTRY)
POOL_WAIT = Histogram(
    "ragbase_db_pool_wait_seconds",
    "Wait for a connection.",
    buckets=BUCKETS,
    registry=REGISTRY,
)
BUILD_INFO = Info("ragbase_build", "Version of this process.", registry=REGISTRY)


def observe_stage(stage: str, mode: str, seconds: float) -> None:
    """Record one search stage (embed, lexical, semantic, graph, fuse, rerank)."""
    STAGE_SECONDS.labels(stage, mode).observe(seconds)


def observe_search(mode: str, seconds: float) -> None:
    """Record a whole search (hybrid, semantic, keyword, graph)."""
    SEARCH_SECONDS.labels(mode).observe(seconds)


def count_degraded(reason: str) -> None:
    """Count an answer that went without a configured part; ``reason`` is a warning code."""
    DEGRADED.labels(reason).inc()


def count_reranked(model: str, outcome: str) -> None:
    """Count a ranking: ok, timeout, unavailable, error, refused, skipped, cancelled."""
    RERANKER_REQUESTS.labels(model, outcome).inc()


def count_ingested(outcome: str) -> None:
    """Count a document: created, replaced, unchanged, deduplicated, rejected, failed."""
    INGESTED.labels(outcome).inc()


def count_llm_request(purpose: str, outcome: str, seconds: float) -> None:
    """Count a completion: ok, timeout, unavailable, rate_limited, unusable, refused, too_long,
    skipped, cancelled, error."""
    LLM_REQUESTS.labels(purpose, outcome).inc()
    if outcome != "skipped":
        LLM_SECONDS.labels(purpose).observe(seconds)


def count_llm_tokens(purpose: str, *, given: int, made: int, cached: int) -> None:
    """Count what a completion cost, whether its answer could be used or not."""
    for direction, tokens in (("input", given), ("output", made), ("cached", cached)):
        LLM_TOKENS.labels(purpose, direction).inc(tokens)


def count_contexts(outcome: str, chunks: int) -> None:
    """Count context lines: made, cached, failed."""
    CONTEXTS.labels(outcome).inc(chunks)


@contextmanager
def observe_ingest_stage(stage: str) -> Iterator[None]:
    """Time one ingest stage (parse, split, context, embed, store)."""
    started = perf_counter()
    try:
        yield
    finally:
        INGEST_SECONDS.labels(stage).observe(perf_counter() - started)


def set_dependency(dependency: str, *, up: bool) -> None:
    """Record the result of a probe (postgres, embedding, reranker-<name>, llm, memgraph)."""
    DEPENDENCY_UP.labels(dependency).set(1 if up else 0)
