"""Objects of the Prometheus operator, where its CRDs are installed."""

from __future__ import annotations

from typing import Any, Final

from ragbase_operator.builders.components import API, LOCALRAG, STACK, WORKER
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.kinds import FOREIGN_KINDS, Kind
from ragbase_operator.builders.labels import COMPONENT_LABEL, selector_of
from ragbase_operator.builders.models import model_components
from ragbase_operator.builders.names import child
from ragbase_operator.builders.objects import child_object
from ragbase_operator.builders.rules import scope_of, stack_groups
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["monitoring"]

_SERVICE_MONITOR, _POD_MONITOR, _RULE = FOREIGN_KINDS[1:]
_INTERVAL: Final = "30s"


def monitoring(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """A ServiceMonitor of the API, PodMonitors of what has no such Service, and alert rules."""
    wished = ragbase.spec.monitoring
    found: list[Manifest] = []
    if wished.service_monitor and _known(_SERVICE_MONITOR, inputs):
        spec = _monitor(ragbase, [API], "metrics", "endpoints")
        found.append(_object(ragbase, _SERVICE_MONITOR, API, spec))
    if wished.service_monitor and _known(_POD_MONITOR, inputs):
        for component in (WORKER, *([LOCALRAG] if ragbase.spec.localrag.enabled else [])):
            spec = _monitor(ragbase, [component], "metrics", "podMetricsEndpoints")
            found.append(_object(ragbase, _POD_MONITOR, component, spec))
        if servers := model_components(ragbase, inputs):
            spec = _monitor(ragbase, servers, "http", "podMetricsEndpoints")
            found.append(_object(ragbase, _POD_MONITOR, "models", spec))
    if wished.prometheus_rule and _known(_RULE, inputs):
        groups = stack_groups(scope_of(ragbase.namespace, ragbase.name))
        found.append(_object(ragbase, _RULE, "alerts", {"groups": groups}))
    return found


def _known(kind: Kind, inputs: Inputs) -> bool:
    return kind.foreign_name in inputs.kinds


def _monitor(ragbase: RagBase, components: list[str], port: str, endpoints: str) -> dict[str, Any]:
    labels = {k: v for k, v in selector_of(ragbase, API).items() if k != COMPONENT_LABEL}
    chosen = {"key": COMPONENT_LABEL, "operator": "In", "values": sorted(components)}
    return {
        "selector": {"matchLabels": labels, "matchExpressions": [chosen]},
        endpoints: [
            {
                "port": port,
                "path": "/metrics",
                "interval": _INTERVAL,
                "relabelings": _target_labels(ragbase),
            }
        ],
    }


def _target_labels(ragbase: RagBase) -> list[dict[str, Any]]:
    """`ragbase` and `component` on every series, which rules and dashboards go by."""
    component = "__meta_kubernetes_pod_label_app_kubernetes_io_component"
    return [
        {"targetLabel": "ragbase", "replacement": ragbase.name},
        {"sourceLabels": [component], "targetLabel": "component"},
    ]


def _object(ragbase: RagBase, kind: Kind, suffix: str, spec: dict[str, Any]) -> Manifest:
    component = suffix if suffix in {API, WORKER, LOCALRAG} else STACK
    return child_object(
        ragbase,
        kind,
        child(ragbase.name, suffix),
        component,
        {"spec": spec},
        labels=ragbase.spec.monitoring.labels,
    )
