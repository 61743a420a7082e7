"""The Ingress of the API."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders.components import API, API_PORT, host
from ragbase_operator.builders.names import child
from ragbase_operator.builders.objects import child_object
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["ingress"]


def ingress(ragbase: RagBase) -> list[Manifest]:
    """An Ingress, where one is wished."""
    wished = ragbase.spec.api.ingress
    if not wished.enabled or wished.host is None:
        return []
    backend = {"service": {"name": host(ragbase, API), "port": {"number": API_PORT}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec: dict[str, Any] = {"rules": [{"host": wished.host, "http": {"paths": [path]}}]}
    if wished.class_name is not None:
        spec["ingressClassName"] = wished.class_name
    if wished.tls_secret_name is not None:
        spec["tls"] = [{"hosts": [wished.host], "secretName": wished.tls_secret_name}]
    return [
        child_object(
            ragbase,
            ("networking.k8s.io/v1", "Ingress"),
            child(ragbase.name, API),
            API,
            {"spec": spec},
            annotations=wished.annotations,
        )
    ]
