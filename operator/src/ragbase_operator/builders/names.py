"""Names of the children of a RagBase: valid, stable, and distinct.

A RagBase may have a name of 253 characters with dots in it and a digit first; most children may
not. What does not fit is cut and told apart by a hash of the whole.
"""

from __future__ import annotations

import hashlib
import re

__all__ = [
    "LABEL_LIMIT",
    "WORKLOAD_LIMIT",
    "api_key_secret",
    "bounded",
    "child",
    "claim",
    "client_secret",
    "config_map",
    "database_secret",
    "digest",
    "label_value",
    "memgraph_secret",
    "models_claim",
    "reranker_component",
]

LABEL_LIMIT = 63
"""Of DNS labels (Services) and of label values (the names of Deployments and Jobs become some)."""
WORKLOAD_LIMIT = 52
"""Of StatefulSets and CronJobs: their controllers add up to 11 characters and make a label of it."""
_HASH = 8
_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def digest(text: str, length: int = _HASH) -> str:
    """The first ``length`` hexadecimal signs of a SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def bounded(name: str, limit: int = LABEL_LIMIT) -> str:
    """``name`` where it is a DNS label (RFC 1035) of at most ``limit`` characters, else one of it.

    What is made has a hash of the whole name at its end, so two names that differ anywhere stay
    distinct.
    """
    if len(name) <= limit and _DNS_LABEL.fullmatch(name):
        return name
    safe = re.sub(r"[^a-z0-9-]", "-", name.lower())
    if not safe[:1].isalpha():
        safe = f"rb-{safe}"
    return f"{safe[: limit - _HASH - 1].rstrip('-')}-{digest(name)}"


def child(ragbase: str, suffix: str, limit: int = LABEL_LIMIT) -> str:
    """``<ragbase>-<suffix>``, bounded."""
    return bounded(f"{ragbase}-{suffix}", limit)


def claim(ragbase: str, component: str) -> str:
    """The claim of a component's data, named as a StatefulSet's first pod would name it."""
    return f"data-{child(ragbase, component, WORKLOAD_LIMIT)}-0"


def label_value(text: str) -> str:
    """``text`` as the value of a label: a name of a RagBase, cut and hashed where it is too long."""
    if len(text) <= LABEL_LIMIT:
        return text
    return f"{text[: LABEL_LIMIT - _HASH - 1].rstrip('-.')}-{digest(text)}"


def reranker_component(name: str) -> str:
    """The component of a reranker's pods."""
    return f"reranker-{name}"


def config_map(ragbase: str) -> str:
    """The ConfigMap with the settings of API and workers."""
    return child(ragbase, "config")


def database_secret(ragbase: str) -> str:
    """The Secret with `uri`, `username`, `password` of the database."""
    return child(ragbase, "database")


def memgraph_secret(ragbase: str) -> str:
    """The Secret with `username`, `password` of Memgraph."""
    return child(ragbase, "memgraph")


def api_key_secret(ragbase: str) -> str:
    """The Secret with the API keys `admin` and `probe`."""
    return child(ragbase, "api-key")


def client_secret(ragbase: str) -> str:
    """The Secret with `url`, `apiKey` and, where there is one, `localragUrl` for clients in the cluster."""
    return child(ragbase, "client")


def models_claim(ragbase: str) -> str:
    """The claim of the second API's models."""
    return child(ragbase, "localrag-models")
