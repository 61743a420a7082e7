"""All that a RagBase came to be, in a form in which two of the same spec are equal."""

from __future__ import annotations

import re
from typing import Any

from e2e.operator_kit.harness import Harness
from ragbase_operator.builders.kinds import CHILD_KINDS, Kind
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.rbac.rules import plural

__all__ = ["children_of", "end_state", "leftovers"]

_SERVERS = ("clusterIP", "clusterIPs", "volumeName", "nodePort")
"""Fields of specs that the cluster fills in, for each object otherwise."""
_HASHED = re.compile(r"\b[0-9a-f]{8,64}\b")
"""Hashes of Secrets and settings, in which the names and random values are."""
_UID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def children_of(harness: Harness, uid: str) -> list[Manifest]:
    """All children that have the uid in their owner label."""
    return [each for kind in CHILD_KINDS for each in _listed(harness, kind, uid)]


def end_state(harness: Harness, name: str) -> dict[str, Any]:
    """Kind and name of each child of a RagBase to its labels and content, without what is random."""
    body = harness.get("RagBase", name)
    assert body is not None, f"there is no RagBase {name}"
    found = children_of(harness, body["metadata"]["uid"])
    return dict(sorted(_plain(each, name) for each in found))


def leftovers(harness: Harness, uid: str) -> set[str]:
    """Kinds of which children of a RagBase are there; those that are going do not count."""
    return {
        each["kind"]
        for each in children_of(harness, uid)
        if not each["metadata"].get("deletionTimestamp")
    }


def _listed(harness: Harness, kind: Kind, uid: str) -> list[Manifest]:
    root = "apis" if "/" in kind.api_version else "api"
    path = f"/{root}/{kind.api_version}/namespaces/{harness.namespace}/{plural(kind.kind)}"
    answer = harness.server.request("GET", f"{path}?labelSelector=ragbase.dev/owner={uid}")
    return [{**each, "kind": kind.kind} for each in answer.body["items"]]


def _plain(child: Manifest, name: str) -> tuple[str, Any]:
    metadata = child["metadata"]
    content = {
        key: value
        for key, value in child.items()
        if key not in ("apiVersion", "kind", "metadata", "status")
    }
    kept = {
        "labels": metadata.get("labels"),
        "owners": [owner["name"] for owner in metadata.get("ownerReferences") or []],
        **content,
    }
    if child["kind"] == "Secret":
        kept["data"] = sorted(child.get("data") or {})
    called = _unnamed(f"{child['kind']} {metadata['name']}", name)
    return called, _unnamed(kept, name)


def _unnamed(value: Any, name: str) -> Any:
    """``value`` without the name of its RagBase, uids, hashes, and what the cluster fills in."""
    if isinstance(value, dict):
        return {
            _unnamed(key, name): _unnamed(each, name)
            for key, each in value.items()
            if key not in _SERVERS
        }
    if isinstance(value, list):
        return [_unnamed(each, name) for each in value]
    if not isinstance(value, str):
        return value
    return _HASHED.sub("HASH", _UID.sub("UID", value)).replace(name, "NAME")
