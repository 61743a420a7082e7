"""The components of a RagBase, and how they reach each other."""

from __future__ import annotations

from typing import Final

from ragbase_operator.builders.names import child
from ragbase_operator.models.objects import RagBase

__all__ = [
    "API",
    "API_PORT",
    "BACKUP",
    "BENCHMARK",
    "BOLT_PORT",
    "DATABASE",
    "EMBEDDING",
    "LOCALRAG",
    "LOCALRAG_PORT",
    "MEMGRAPH",
    "METRICS_PORT",
    "MIGRATE",
    "MIGRATION_GATED",
    "MODEL_PORT",
    "NER",
    "POSTGRES_PORT",
    "RESTORE",
    "STACK",
    "WORKER",
    "api_url",
    "cluster_name",
    "host",
    "localrag_url",
]

STACK: Final = "stack"
"""Component of what belongs to all: Secrets, settings, rules."""
API: Final = "api"
WORKER: Final = "worker"
LOCALRAG: Final = "localrag"
EMBEDDING: Final = "embedding"
DATABASE: Final = "postgres"
MEMGRAPH: Final = "memgraph"
NER: Final = "ner"
MIGRATE: Final = "migrate"
BACKUP: Final = "backup"
RESTORE: Final = "restore"
BENCHMARK: Final = "benchmark"

MIGRATION_GATED: Final = frozenset({API, WORKER, LOCALRAG})
"""Components that must not change their image before the migration Job is done."""

API_PORT: Final = 8000
LOCALRAG_PORT: Final = 57_352
METRICS_PORT: Final = 9090
MODEL_PORT: Final = 8080
POSTGRES_PORT: Final = 5432
BOLT_PORT: Final = 7687
CLUSTER_LIMIT: Final = 50


def host(ragbase: RagBase, component: str) -> str:
    """The DNS name of a component's Service, within the namespace."""
    return child(ragbase.name, component)


def cluster_name(ragbase: RagBase) -> str:
    """The Cluster of CloudNativePG, which takes 50 characters: it adds to them for its Services."""
    return child(ragbase.name, DATABASE, CLUSTER_LIMIT)


def api_url(ragbase: RagBase) -> str:
    """Where clients in the cluster reach the API, from any namespace."""
    return f"http://{host(ragbase, API)}.{ragbase.namespace}.svc:{API_PORT}"


def localrag_url(ragbase: RagBase) -> str:
    """Where clients in the cluster reach the second API, from any namespace."""
    return f"http://{host(ragbase, LOCALRAG)}.{ragbase.namespace}.svc:{LOCALRAG_PORT}"
