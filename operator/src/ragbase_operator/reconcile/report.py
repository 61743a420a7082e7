"""The status of a RagBase, put together from a pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from ragbase_operator.builders import names
from ragbase_operator.builders.components import API, api_url, localrag_url
from ragbase_operator.builders.labels import component_of, selector_of
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.models.objects import RagBase
from ragbase_operator.reconcile.plan import image_of
from ragbase_operator.status.conditions import merge_conditions
from ragbase_operator.status.snapshot import Snapshot
from ragbase_operator.status.verdict import Verdict

__all__ = ["images_of", "newest_of", "status_of"]

_WORKLOADS = ("Deployment", "StatefulSet")


def status_of(
    ragbase: RagBase,
    before: Mapping[str, Any],
    verdicts: Mapping[Any, Verdict],
    seen: Snapshot,
    extra: Mapping[str, Any],
    now: datetime,
) -> dict[str, Any]:
    """`status`; of ``extra`` what is not None."""
    selector = selector_of(ragbase, API)
    status: dict[str, Any] = {
        "observedGeneration": ragbase.generation,
        "conditions": merge_conditions(
            before.get("conditions") or [], verdicts, ragbase.generation, now
        ),
        "endpoints": _endpoints(ragbase),
        "images": images_of(seen.children),
        "replicas": _replicas(seen.children),
        "selector": ",".join(f"{name}={value}" for name, value in selector.items()),
    }
    return status | {name: value for name, value in extra.items() if value is not None}


def images_of(children: Mapping[Ref, Manifest]) -> dict[str, str]:
    """Image of each workload, by component."""
    return {
        component_of(child): image_of(child)
        for ref, child in sorted(children.items())
        if ref.kind in _WORKLOADS
    }


def newest_of(tasks: Iterable[Manifest], ragbase: str, extra: Sequence[str] = ()) -> str | None:
    """When the last completed backup or benchmark of a RagBase was done; None: never."""
    times = [
        str((task.get("status") or {}).get("completionTime"))
        for task in tasks
        if (task.get("spec") or {}).get("ragbase") == ragbase and _is_complete(task)
    ]
    return max([*times, *extra], default=None)


def _endpoints(ragbase: RagBase) -> dict[str, str]:
    found = {"api": api_url(ragbase), "clientSecret": names.client_secret(ragbase.name)}
    if ragbase.spec.localrag.enabled:
        found["localrag"] = localrag_url(ragbase)
    return found


def _replicas(children: Mapping[Ref, Manifest]) -> int:
    """Pods of the API, as the scale subresource shows them."""
    return next(
        (
            int((child.get("status") or {}).get("replicas") or 0)
            for ref, child in children.items()
            if ref.kind == "Deployment" and component_of(child) == API
        ),
        0,
    )


def _is_complete(task: Manifest) -> bool:
    conditions = (task.get("status") or {}).get("conditions") or []
    return any(c["type"] == "Complete" and c["status"] == "True" for c in conditions)
