"""The port to a cluster that is not there: for tests of what asks it, never of what it does.

Keeps what the operator relies on: fields that an apply gives up, generations, resource versions
that change only with the object, the status subresource, owner references, finalizers, refusals.
Knows no defaults, no admission and no controllers. Tests hold it to a real API server.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy

from ragbase_operator.cluster import fake_rules as rules
from ragbase_operator.cluster.fake_fields import Holders, flatten, unflatten
from ragbase_operator.cluster.fake_store import Store
from ragbase_operator.cluster.port import (
    ClusterError,
    ConflictError,
    KindAbsentError,
    RefusedError,
)
from ragbase_operator.models.kinds import GROUP
from ragbase_operator.models.manifest import Manifest, Ref, ref_of

__all__ = ["FakeCluster"]


REPLICAS = ("spec", "replicas")
FIELD_MANAGER = "ragbase-operator"


class FakeCluster:
    """Implements `Cluster`, with what a test does to a cluster besides.

    Kinds of other operators are absent until `install`.
    """

    def __init__(self) -> None:
        self.writes: list[Ref] = []
        """Of every apply and delete that changed something."""
        self.outage = False
        """While True, every call fails as if the API server could not be reached."""
        self._store = Store()
        self._holders: dict[str, dict[str | None, Holders]] = {}
        self._installed: set[tuple[str, str]] = set()
        self._refusals: list[tuple[Callable[[Manifest], bool], str, str]] = []
        self._terminating: set[str] = set()

    async def apply(self, manifest: Manifest, *, subresource: str | None = None) -> Manifest:
        """See `Cluster.apply`."""
        ref = ref_of(manifest)
        self._check(ref.api_version, ref.kind)
        old = self._store.get(ref)
        expected = manifest["metadata"].get("resourceVersion")
        if old is not None and expected not in (None, old["metadata"]["resourceVersion"]):
            raise ConflictError(f"{ref}: the object has been modified")
        holders = deepcopy(self._holders_of(old, subresource))
        wished = dict(flatten(self._wished(manifest, subresource)))
        wished.pop(("metadata", "resourceVersion"), None)
        new = unflatten(holders.apply(dict(flatten(old or {})), wished))
        self._refuse(ref, old, new, subresource)
        if self._store.put(new):
            self.writes.append(ref)
        now = self._store.get(ref)
        if now:
            self._holders.setdefault(now["metadata"]["uid"], {})[subresource] = holders
        return self._shown(now or new)

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None,
        labels: Mapping[str, str] | None = None,
    ) -> Sequence[Manifest]:
        """See `Cluster.list`."""
        self._check(api_version, kind)
        wanted = (labels or {}).items()
        return [
            self._shown(each)
            for each in self._store.all()
            if (each["apiVersion"], each["kind"]) == (api_version, kind)
            and namespace in (None, "", each["metadata"].get("namespace", ""))
            and wanted <= each["metadata"].get("labels", {}).items()
        ]

    async def delete(self, ref: Ref, *, uid: str | None = None) -> bool:
        """See `Cluster.delete`."""
        self._check(ref.api_version, ref.kind)
        found = self._store.get(ref)
        if found is None or uid not in (None, found["metadata"]["uid"]):
            return False
        self._store.delete(ref)
        self.writes.append(ref)
        return True

    def get(self, ref: Ref) -> Manifest | None:
        """An object, for a test to look at."""
        return self._store.get(ref)

    def edit(self, ref: Ref, change: Callable[[Manifest], object]) -> None:
        """Another writer updates an object in place; fields it changes are no longer ours."""
        found = self._store.get(ref)
        if found is None:
            raise KeyError(ref)
        before = dict(flatten(found))
        change(found)
        for holders in self._holders.get(found["metadata"]["uid"], {}).values():
            holders.edit(before, dict(flatten(found)))
        self._store.put(found)

    def install(self, api_version: str, kind: str) -> None:
        """The CRD of another operator's kind comes."""
        self._installed.add((api_version, kind))

    def refuse(
        self, reason: str, message: str, when: Callable[[Manifest], bool] = lambda _: True
    ) -> None:
        """From now on, applies of objects for which ``when`` holds are refused."""
        self._refusals.append((when, reason, message))

    def accept(self) -> None:
        """The end of all `refuse`."""
        self._refusals.clear()

    def terminate(self, namespace: str) -> None:
        """Delete a namespace: its objects go, new ones are refused."""
        self._terminating.add(namespace)
        for each in self._store.all():
            if each["metadata"].get("namespace") == namespace and self._store.get(ref_of(each)):
                self._store.delete(ref_of(each))

    def _shown(self, manifest: Manifest) -> Manifest:
        """The object, with who holds its `spec.replicas`."""
        holders = self._holders_of(manifest, None)
        held = {FIELD_MANAGER: holders.ours, "others": holders.theirs}
        managers = [name for name, paths in held.items() if REPLICAS in paths]
        if managers:
            fields: Manifest = {"f:spec": {"f:replicas": {}}}
            manifest["metadata"]["managedFields"] = [
                {"manager": name, "fieldsV1": fields} for name in managers
            ]
        return manifest

    def _check(self, api_version: str, kind: str) -> None:
        if self.outage:
            raise ClusterError("the API server cannot be reached")
        ours = api_version.startswith(f"{GROUP}/")
        known = ours or rules.is_built_in(api_version) or (api_version, kind) in self._installed
        if not known:
            raise KindAbsentError(f"the cluster does not know {kind} of {api_version}")

    def _wished(self, manifest: Manifest, subresource: str | None) -> Manifest:
        """What the server looks at: a status by its subresource only, and nothing else there."""
        if subresource is not None:
            named = {
                key: manifest["metadata"][key]
                for key in ("name", "namespace")
                if key in manifest["metadata"]
            }
            identity = {"apiVersion": manifest["apiVersion"], "kind": manifest["kind"]}
            return {**identity, "metadata": named, subresource: manifest.get(subresource, {})}
        if rules.has_status(manifest["kind"]):
            return {key: value for key, value in manifest.items() if key != "status"}
        return manifest

    def _holders_of(self, old: Manifest | None, subresource: str | None) -> Holders:
        """Of an object; our applies to the object and to a subresource hold fields apart."""
        uid = old["metadata"]["uid"] if old else ""
        return self._holders.get(uid, {}).get(subresource) or Holders()

    def _refuse(
        self, ref: Ref, old: Manifest | None, new: Manifest, subresource: str | None
    ) -> None:
        """Raise what the server would answer to an object that it does not take."""
        if subresource is not None and old is None:
            raise RefusedError(ref, "NotFound", f"{ref} not found")
        if old is None and ref.namespace in self._terminating:
            raise RefusedError(ref, "NamespaceTerminating", f"{ref.namespace} is being terminated")
        for when, reason, message in self._refusals:
            if when(new):
                raise RefusedError(ref, reason, message)
        if found := list(rules.complaints(old, new)):
            raise RefusedError(ref, "Invalid", "; ".join(found))
