"""NetworkPolicies: the edges of a RagBase, and no other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from ragbase_operator.builders.components import (
    API,
    API_PORT,
    BACKUP,
    BENCHMARK,
    BOLT_PORT,
    DATABASE,
    LOCALRAG,
    LOCALRAG_PORT,
    MEMGRAPH,
    METRICS_PORT,
    MIGRATE,
    MODEL_PORT,
    NER,
    POSTGRES_PORT,
    RESTORE,
    WORKER,
    cluster_name,
)
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.labels import COMPONENT_LABEL, selector_of
from ragbase_operator.builders.models import model_components
from ragbase_operator.builders.names import child
from ragbase_operator.builders.objects import child_object
from ragbase_operator.builders.references import external_servers
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["network_policies"]

OPERATOR_PEER: Final = {
    "namespaceSelector": {},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "ragbase-operator"}},
}
"""Its readiness search goes to the API, from whatever namespace it runs in."""
PROMETHEUS_PEER: Final = {
    "namespaceSelector": {},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
}
CNPG_PEER: Final = {
    "namespaceSelector": {},
    "podSelector": {"matchLabels": {"app.kubernetes.io/name": "cloudnative-pg"}},
}
HTTPS_PORT: Final = 443
_JOBS: Final = (MIGRATE, BACKUP, RESTORE, BENCHMARK)


class Edge(NamedTuple):
    """Pods of one component may connect to a port of another's."""

    source: str
    target: str
    port: int


def network_policies(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """One policy a component, where they are wished."""
    if not ragbase.spec.network_policy.enabled:
        return []
    servers = model_components(ragbase, inputs)
    edges = list(_edges(ragbase, servers))
    components = [*_serving(ragbase), *_JOBS, *servers]
    if ragbase.spec.database.mode == "managed":
        components.append(DATABASE)
    if ragbase.spec.graph.projected:
        components.append(MEMGRAPH)
    found = [_policy(ragbase, component, edges, servers) for component in components]
    if ragbase.spec.database.mode == "cnpg":
        found.append(_cnpg_policy(ragbase, edges))
    return found


def _edges(ragbase: RagBase, servers: Sequence[str]) -> Iterator[Edge]:
    if ragbase.spec.database.mode != "external":
        for source in (*_serving(ragbase), MIGRATE, BACKUP, RESTORE):
            yield Edge(source, DATABASE, POSTGRES_PORT)
    for source in _serving(ragbase):
        for server in servers:
            if source != LOCALRAG or server != NER:
                yield Edge(source, server, MODEL_PORT)
    if ragbase.spec.graph.projected:
        for source in (API, WORKER):
            yield Edge(source, MEMGRAPH, BOLT_PORT)
    yield Edge(BENCHMARK, API, API_PORT)


def _serving(ragbase: RagBase) -> tuple[str, ...]:
    """Components that answer callers or do their jobs, and so need data and models."""
    return (API, WORKER, LOCALRAG) if ragbase.spec.localrag.enabled else (API, WORKER)


def _policy(
    ragbase: RagBase, component: str, edges: Sequence[Edge], servers: Sequence[str]
) -> Manifest:
    selector = {"matchLabels": selector_of(ragbase, component)}
    egress = [
        _rule("to", [_peer(ragbase, edge)], edge.port) for edge in edges if edge.source == component
    ]
    if egress or component in servers:
        egress.append(_DNS)
    egress += [_rule("to", None, port) for port in _outside(ragbase, component, servers)]
    spec = {
        "podSelector": selector,
        "policyTypes": ["Ingress", "Egress"],
        "ingress": _ingress(ragbase, component, edges, servers),
        "egress": egress,
    }
    return _object(ragbase, component, spec)


def _ingress(
    ragbase: RagBase, component: str, edges: Sequence[Edge], servers: Sequence[str]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for port in sorted({edge.port for edge in edges if edge.target == component}):
        sources = [edge.source for edge in edges if edge.target == component and edge.port == port]
        found.append(_rule("from", [_sources(ragbase, sources)], port))
    callers = [dict(peer) for peer in ragbase.spec.network_policy.allow_from]
    if component == API:
        found.append(_rule("from", [OPERATOR_PEER, *callers], API_PORT))
    if component == LOCALRAG and callers:
        found.append(_rule("from", callers, LOCALRAG_PORT))
    if ragbase.spec.monitoring.service_monitor and component in {API, WORKER, LOCALRAG}:
        found.append(_rule("from", [PROMETHEUS_PEER], METRICS_PORT))
    if ragbase.spec.monitoring.service_monitor and component in servers:
        found.append(_rule("from", [PROMETHEUS_PEER], MODEL_PORT))
    return found


def _outside(ragbase: RagBase, component: str, servers: Sequence[str]) -> list[int]:
    """Ports that a component reaches anywhere: hubs of models, and what others run."""
    spec = ragbase.spec
    if component in servers:
        return [HTTPS_PORT]
    ports: set[int] = set()
    if spec.database.mode == "external" and component != BENCHMARK:
        ports.add(POSTGRES_PORT)
    if component in {API, WORKER, LOCALRAG}:
        ports |= {_port_of(url) for url in _outside_urls(ragbase)}
    if component == LOCALRAG:
        ports |= {HTTPS_PORT, _port_of(_openai_url(ragbase))}
    return sorted(ports)


def _outside_urls(ragbase: RagBase) -> Iterator[str]:
    spec = ragbase.spec
    for server in external_servers(spec):
        yield server.url
    if spec.llm is not None:
        yield spec.llm.base_url
        for purpose in (spec.llm.contextual, spec.llm.extraction):
            if purpose.base_url is not None:
                yield purpose.base_url


def _openai_url(ragbase: RagBase) -> str:
    """Where requests with `useOpenAI` go; by default OpenAI."""
    settings = {**ragbase.spec.api.settings, **ragbase.spec.localrag.settings}
    return settings.get("LOCALRAG_OPENAI_BASE_URL", "")


def _cnpg_policy(ragbase: RagBase, edges: Sequence[Edge]) -> Manifest:
    """Instances replicate among themselves and are led by CloudNativePG's operator."""
    own = {"podSelector": {"matchLabels": {"cnpg.io/cluster": cluster_name(ragbase)}}}
    sources = [edge.source for edge in edges if edge.target == DATABASE]
    spec = {
        "podSelector": own["podSelector"],
        "policyTypes": ["Ingress"],
        "ingress": [
            _rule("from", [_sources(ragbase, sources), own, CNPG_PEER], POSTGRES_PORT),
            _rule("from", [own, CNPG_PEER], API_PORT),
        ],
    }
    return _object(ragbase, DATABASE, spec)


def _sources(ragbase: RagBase, components: Sequence[str]) -> dict[str, Any]:
    labels = {k: v for k, v in selector_of(ragbase, API).items() if k != COMPONENT_LABEL}
    chosen = {"key": COMPONENT_LABEL, "operator": "In", "values": sorted(components)}
    return {"podSelector": {"matchLabels": labels, "matchExpressions": [chosen]}}


def _peer(ragbase: RagBase, edge: Edge) -> dict[str, Any]:
    if edge.target == DATABASE and ragbase.spec.database.mode == "cnpg":
        return {"podSelector": {"matchLabels": {"cnpg.io/cluster": cluster_name(ragbase)}}}
    return {"podSelector": {"matchLabels": selector_of(ragbase, edge.target)}}


def _rule(side: str, peers: Sequence[Mapping[str, Any]] | None, port: int) -> dict[str, Any]:
    found: dict[str, Any] = {"ports": [{"protocol": "TCP", "port": port}]}
    if peers is not None:
        found[side] = [dict(peer) for peer in peers]
    return found


def _port_of(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (80 if parts.scheme == "http" else HTTPS_PORT)


def _object(ragbase: RagBase, component: str, spec: dict[str, Any]) -> Manifest:
    kind = ("networking.k8s.io/v1", "NetworkPolicy")
    return child_object(ragbase, kind, child(ragbase.name, component), component, {"spec": spec})


_DNS: Final = {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]}
