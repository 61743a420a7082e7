"""Objects of the fake: versions, generations, deletion, and garbage collection."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from ragbase_operator.cluster.fake_rules import has_generation
from ragbase_operator.models.manifest import Manifest, Ref, ref_of

__all__ = ["Store"]


class Store:
    """Objects by name; what goes in and out is copied."""

    def __init__(self) -> None:
        self._objects: dict[Ref, Manifest] = {}
        self._version = 1
        """Of the last write; an empty etcd has this one, so that no object has it."""
        self._gone: set[str] = set()

    def get(self, ref: Ref) -> Manifest | None:
        """An object."""
        return deepcopy(self._objects.get(ref))

    def all(self) -> Iterator[Manifest]:
        """Every object, by kind, namespace and name."""
        for ref in sorted(self._objects):
            yield deepcopy(self._objects[ref])

    def put(self, manifest: Manifest) -> bool:
        """Store an object whole; whether that changed anything."""
        ref = ref_of(manifest)
        old = self._objects.get(ref)
        new = deepcopy(manifest)
        new["metadata"] = {**new["metadata"], **kept(old, new)}
        if new == old:
            return False
        self._version += 1
        new["metadata"]["resourceVersion"] = str(self._version)
        self._objects[ref] = new
        self._sweep()
        return True

    def delete(self, ref: Ref) -> None:
        """Delete an object; with finalizers it stays, marked, until they are gone."""
        metadata = self._objects[ref]["metadata"]
        metadata.setdefault("deletionTimestamp", now())
        self._sweep()

    def _sweep(self) -> None:
        """Remove what is deleted and not held; then what it owned, in turn."""
        while dead := [ref for ref, each in self._objects.items() if self._is_dead(each)]:
            for ref in dead:
                self._gone.add(self._objects.pop(ref)["metadata"]["uid"])
            for each in self._objects.values():
                if self._is_orphan(each):
                    each["metadata"].setdefault("deletionTimestamp", now())

    def _is_dead(self, manifest: Manifest) -> bool:
        metadata = manifest["metadata"]
        return "deletionTimestamp" in metadata and not metadata.get("finalizers")

    def _is_orphan(self, manifest: Manifest) -> bool:
        """Whether all its owners were deleted; owners that never were here are believed in."""
        owners = manifest["metadata"].get("ownerReferences", [])
        return bool(owners) and all(owner["uid"] in self._gone for owner in owners)


def kept(old: Manifest | None, new: Manifest) -> dict[str, Any]:
    """Metadata that the server alone writes."""
    before = old["metadata"] if old else {}
    own = {
        "uid": before.get("uid") or str(uuid4()),
        "creationTimestamp": before.get("creationTimestamp") or now(),
    }
    if old:
        own["resourceVersion"] = before["resourceVersion"]
    if has_generation(new["kind"]):
        changed = old is not None and content(old) != content(new)
        own["generation"] = before.get("generation", 1) + changed
    return own


def content(manifest: Manifest) -> Manifest:
    """What a generation counts the changes of."""
    return {key: value for key, value in manifest.items() if key not in ("metadata", "status")}


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
