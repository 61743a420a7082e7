"""Settings of API, workers and commands, by the names that they read from their environment."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders import names
from ragbase_operator.builders.components import (
    API_PORT,
    BOLT_PORT,
    EMBEDDING,
    MEMGRAPH,
    METRICS_PORT,
    NER,
    STACK,
    host,
)
from ragbase_operator.builders.environment import from_key, from_secret
from ragbase_operator.builders.objects import child_object
from ragbase_operator.builders.rerankers import reranker_env
from ragbase_operator.models.graph import LlmPurpose
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = [
    "DRAIN_SECONDS",
    "api_env",
    "asks_gliner",
    "config_map",
    "database_env",
    "extraction_of",
    "lexical_of",
    "settings_of",
]

SCHEMA_WAIT_SECONDS = 240
"""Pods start beside the migration; below their startup probe's budget, so that they say why they end."""

DRAIN_SECONDS = 5
"""Until load balancers know that a pod ends."""


def settings_of(ragbase: RagBase) -> dict[str, str]:
    """All settings that are no secret; those of `spec.api.settings` win."""
    spec = ragbase.spec
    found = {
        "RAGBASE_HOST": "0.0.0.0",  # noqa: S104 - a pod's own address space; Services lead here
        "RAGBASE_PORT": str(API_PORT),
        "RAGBASE_METRICS_PORT": str(METRICS_PORT),
        "RAGBASE_LOG_FORMAT": "json",
        "RAGBASE_AUTH": "on" if spec.api.auth.enabled else "off",
        "RAGBASE_SHUTDOWN_DRAIN": str(DRAIN_SECONDS),
        "RAGBASE_WORKERS": "0",
        "RAGBASE_SCHEMA_WAIT": str(SCHEMA_WAIT_SECONDS),
        "RAGBASE_WORKER_JOBS": str(spec.workers.jobs),
        "RAGBASE_LEXICAL": lexical_of(ragbase),
        **_embedding(ragbase),
        **_graph(ragbase),
        **_llm(ragbase),
    }
    if not spec.api.auth.enabled:
        found["RAGBASE_ALLOW_INSECURE"] = "true"
    return {**found, **spec.api.settings}


def config_map(ragbase: RagBase) -> Manifest:
    """The ConfigMap `<name>-config`."""
    content = {"data": settings_of(ragbase)}
    name = names.config_map(ragbase.name)
    return child_object(ragbase, ("v1", "ConfigMap"), name, STACK, content)


def api_env(ragbase: RagBase) -> list[dict[str, Any]]:
    """Variables of API and workers that come from Secrets, and the rerankers."""
    env = [*database_env(ragbase), *_auth_env(ragbase), *_key_env(ragbase)]
    if "RAGBASE_RERANKERS" not in ragbase.spec.api.settings:
        env += reranker_env(ragbase)
    return env


def database_env(ragbase: RagBase) -> list[dict[str, Any]]:
    """`DATABASE_URL`."""
    external = ragbase.spec.database.external
    name = names.database_secret(ragbase.name) if external is None else external.secret_ref.name
    return [from_secret("DATABASE_URL", name, "uri")]


def lexical_of(ragbase: RagBase) -> str:
    """The keyword dialect; pg_search has no index on replicas, so more than one means native."""
    database = ragbase.spec.database
    if database.lexical == "auto" and database.mode == "cnpg" and database.cnpg.instances > 1:
        return "native"
    return database.lexical


def extraction_of(ragbase: RagBase) -> str:
    """What finds entities: ``llm``, ``ner`` or ``off``."""
    spec = ragbase.spec
    if not spec.graph.enabled:
        return "off"
    if spec.graph.extraction != "auto":
        return spec.graph.extraction
    return "llm" if spec.llm is not None and spec.llm.extraction.enabled else "ner"


def asks_gliner(ragbase: RagBase) -> bool:
    """Whether entities are found by a server of its own; spaCy runs in the workers."""
    return extraction_of(ragbase) == "ner" and ragbase.spec.graph.ner.engine == "gliner"


def _embedding(ragbase: RagBase) -> dict[str, str]:
    embeddings = ragbase.spec.embeddings
    external = embeddings.external
    return {
        "RAGBASE_EMBEDDING_ENGINE": "openai" if embeddings.engine == "openai" else "tei",
        "EMBEDDING_URL": f"http://{host(ragbase, EMBEDDING)}" if external is None else external.url,
        "EMBEDDING_MODEL": embeddings.model,
    }


def _graph(ragbase: RagBase) -> dict[str, str]:
    found = {"RAGBASE_EXTRACTION": extraction_of(ragbase)}
    if ragbase.spec.graph.projected:
        found["MEMGRAPH_URL"] = f"bolt://{host(ragbase, MEMGRAPH)}:{BOLT_PORT}"
    if asks_gliner(ragbase):
        ner = ragbase.spec.graph.ner
        found |= {
            "RAGBASE_NER_URL": f"http://{host(ragbase, NER)}",
            "RAGBASE_NER_LABELS": ",".join(ner.labels),
            "RAGBASE_NER_THRESHOLD": str(ner.threshold),
        }
    return found


def _llm(ragbase: RagBase) -> dict[str, str]:
    llm = ragbase.spec.llm
    if llm is None:
        return {}
    return {
        "LLM_BASE_URL": llm.base_url,
        "LLM_MODEL": llm.model,
        **_purpose("CONTEXTUAL", llm.contextual),
        **_purpose("EXTRACTION", llm.extraction),
    }


def _purpose(name: str, purpose: LlmPurpose) -> dict[str, str]:
    found = {f"LLM_{name}_ENABLED": str(purpose.enabled).lower()}
    if purpose.base_url is not None:
        found[f"LLM_{name}_BASE_URL"] = purpose.base_url
    if purpose.model is not None:
        found[f"LLM_{name}_MODEL"] = purpose.model
    return found


def _auth_env(ragbase: RagBase) -> list[dict[str, Any]]:
    auth = ragbase.spec.api.auth
    if not auth.enabled:
        return []
    existing = auth.existing_secret
    keys = names.api_key_secret(ragbase.name) if existing is None else existing.name
    return [
        from_secret("RAGBASE_ADMIN_KEY", keys, "admin"),
        from_secret("RAGBASE_PROBE_KEY", keys, "probe"),
        from_secret("RAGBASE_CLIENT_KEY", names.client_secret(ragbase.name), "apiKey"),
    ]


def _key_env(ragbase: RagBase) -> list[dict[str, Any]]:
    spec = ragbase.spec
    env: list[dict[str, Any]] = []
    if spec.embeddings.external is not None:
        env += from_key("EMBEDDING_API_KEY", spec.embeddings.external.api_key_secret_ref)
    if spec.graph.projected:
        secret = names.memgraph_secret(ragbase.name)
        env += [
            from_secret("MEMGRAPH_USERNAME", secret, "username"),
            from_secret("MEMGRAPH_PASSWORD", secret, "password"),
        ]
    if spec.llm is not None:
        env += [
            *from_key("LLM_API_KEY", spec.llm.api_key_secret_ref),
            *from_key("LLM_CONTEXTUAL_API_KEY", spec.llm.contextual.api_key_secret_ref),
            *from_key("LLM_EXTRACTION_API_KEY", spec.llm.extraction.api_key_secret_ref),
        ]
    return env
