"""The frame of every child: its name, labels, owner."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any, cast

from ragbase_operator.builders.kinds import DATA_KINDS
from ragbase_operator.builders.labels import labels_of, owner_reference
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["canonical", "child_object", "secret_object"]


def canonical(value: object) -> str:
    """JSON that is the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def child_object(
    ragbase: RagBase,
    kind: tuple[str, str],
    name: str,
    component: str,
    content: Mapping[str, Any],
    *,
    annotations: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """A child: ``kind`` is apiVersion and kind, ``content`` all beside `metadata`."""
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": ragbase.namespace,
        "labels": {**(labels or {}), **labels_of(ragbase, component)},
    }
    if annotations:
        metadata["annotations"] = dict(annotations)
    if _goes_with(ragbase, kind[1]):
        metadata["ownerReferences"] = [owner_reference(ragbase)]
    frame = {"apiVersion": kind[0], "kind": kind[1], "metadata": metadata}
    return cast(Manifest, _unshared({**frame, **content}))


def secret_object(
    ragbase: RagBase, name: str, component: str, values: Mapping[str, str], kind: str = "Opaque"
) -> Manifest:
    """A Secret; its type never changes, for the API server refuses that."""
    data = {key: base64.b64encode(value.encode()).decode() for key, value in values.items()}
    return child_object(ragbase, ("v1", "Secret"), name, component, {"type": kind, "data": data})


def _unshared(value: Any) -> Any:
    """A copy that shares no part with the spec, with constants, or with itself."""
    if isinstance(value, Mapping):
        return {key: _unshared(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_unshared(part) for part in value]
    return value


def _goes_with(ragbase: RagBase, kind: str) -> bool:
    """Whether a child is removed together with its RagBase."""
    return kind not in DATA_KINDS or ragbase.spec.deletion_policy == "Delete"
