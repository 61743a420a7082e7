"""Secrets that a spec refers to: which exist is for the cluster to say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragbase_operator.models.model_servers import ExternalServer
from ragbase_operator.models.pods import PodOverrides, SecretKey
from ragbase_operator.models.ragbase import RagBaseSpec

__all__ = ["SecretUse", "api_uses", "external_servers", "pod_uses", "secret_uses"]


class SecretUse(NamedTuple):
    """A Secret that must be there; with ``key`` "", any keys."""

    name: str
    key: str


def secret_uses(spec: RagBaseSpec) -> frozenset[SecretUse]:
    """All Secrets and keys that pods of this RagBase cannot start without."""
    overrides = [
        spec.database.pod,
        spec.graph.memgraph.pod,
        spec.graph.ner.pod,
        spec.embeddings.pod,
        spec.api.pod,
        spec.workers.pod,
        spec.localrag.pod,
        *(reranker.pod for reranker in spec.rerankers),
    ]
    return api_uses(spec).union(*(pod_uses(each) for each in overrides))


def api_uses(spec: RagBaseSpec) -> frozenset[SecretUse]:
    """Secrets that API and workers read."""
    return frozenset(_api_uses(spec))


def pod_uses(overrides: PodOverrides) -> frozenset[SecretUse]:
    """Secrets that the environment of a workload's overrides reads."""
    return frozenset({*_env(overrides.env), *_env_from(overrides.env_from)})


def external_servers(spec: RagBaseSpec) -> list[ExternalServer]:
    """Model servers that somebody else runs."""
    found = [spec.embeddings.external, *(reranker.external for reranker in spec.rerankers)]
    return [server for server in found if server is not None]


def _api_uses(spec: RagBaseSpec) -> Iterator[SecretUse]:
    if spec.database.external is not None:
        yield SecretUse(spec.database.external.secret_ref.name, "uri")
    auth = spec.api.auth
    if auth.enabled and auth.existing_secret is not None:
        yield SecretUse(auth.existing_secret.name, "admin")
        yield SecretUse(auth.existing_secret.name, "probe")
    for ref in _keys(spec):
        if ref is not None:
            yield SecretUse(ref.name, ref.key)


def _keys(spec: RagBaseSpec) -> Iterator[SecretKey | None]:
    for server in external_servers(spec):
        yield server.api_key_secret_ref
    if spec.llm is not None:
        yield spec.llm.api_key_secret_ref
        yield spec.llm.contextual.api_key_secret_ref
        yield spec.llm.extraction.api_key_secret_ref


def _env(entries: Sequence[Mapping[str, Any]]) -> Iterator[SecretUse]:
    for entry in entries:
        ref = (entry.get("valueFrom") or {}).get("secretKeyRef")
        if ref and not ref.get("optional"):
            yield SecretUse(ref["name"], ref["key"])


def _env_from(entries: Sequence[Mapping[str, Any]]) -> Iterator[SecretUse]:
    for entry in entries:
        ref = entry.get("secretRef")
        if ref and not ref.get("optional"):
            yield SecretUse(ref["name"], "")
