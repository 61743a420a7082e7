"""CRDs of the Prometheus operator, no more than the fields that the charts use.

Fields: https://prometheus-operator.dev/docs/api-reference/api/ (ServiceMonitor, PrometheusRule).
The Prometheus operator itself has not run with these charts.
"""

from __future__ import annotations

from typing import Any

from e2e.cluster import ControlPlane

from .objects import apply

__all__ = ["install_foreign"]

_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_SERVICE_MONITOR = _object(
    ["endpoints", "selector"],
    endpoints=_list(
        _object([], port=_TEXT, path=_TEXT, interval=_TEXT, honorLabels={"type": "boolean"})
    ),
    namespaceSelector=_object([], any={"type": "boolean"}, matchNames=_list(_TEXT)),
    selector=_object([], matchLabels=_TEXTS),
)
_RULE = _object(
    ["expr"],
    **{"alert": _TEXT, "record": _TEXT, "expr": _TEXT, "for": _TEXT},
    labels=_TEXTS,
    annotations=_TEXTS,
)
_PROMETHEUS_RULE = _object(
    [], groups=_list(_object(["name"], name=_TEXT, interval=_TEXT, rules=_list(_RULE)))
)


def install_foreign(server: ControlPlane) -> None:
    """Apply them."""
    for kind, spec in (("ServiceMonitor", _SERVICE_MONITOR), ("PrometheusRule", _PROMETHEUS_RULE)):
        group, plural = "monitoring.coreos.com", f"{kind.lower()}s"
        definition = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{group}"},
            "spec": {
                "group": group,
                "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": _object([], spec=spec)},
                    }
                ],
            },
        }
        answer = apply(server, definition)
        assert answer.status in (200, 201), answer.body
