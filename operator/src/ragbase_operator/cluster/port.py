"""What the operator asks of a cluster, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from ragbase_operator.models.manifest import Manifest, Ref

__all__ = [
    "NEVER",
    "Cluster",
    "ClusterError",
    "ConflictError",
    "KindAbsentError",
    "RefusedError",
]


class ClusterError(Exception):
    """The API server cannot be reached, or failed: worth another try."""


class KindAbsentError(ClusterError):
    """The cluster does not know this kind: its CRD is not installed."""


class RefusedError(ClusterError):
    """The API server refuses the object: invalid, forbidden, over quota. ``reason`` is its word."""

    def __init__(self, ref: Ref, reason: str, message: str) -> None:
        super().__init__(f"{ref}: {message}")
        self.ref = ref
        self.reason = reason
        self.message = message


class ConflictError(ClusterError):
    """Another writer was first."""


NEVER: Final = "1"
"""The resource version with which an apply creates and never changes anything: no object has it,
because the first write to an empty etcd is its second revision, and a version that does not fit
is looked at only where there is an object (k8s.io/apiserver, Store.Update)."""


class Cluster(Protocol):
    """All methods raise `ClusterError` or one of its kinds."""

    async def apply(self, manifest: Manifest, *, subresource: str | None = None) -> Manifest:
        """Server-side apply with our field manager and ``force``; the object as it is then, of
        whose ``managedFields`` only the managers of `spec.replicas` are left.

        With a ``resourceVersion`` only on that version, else `ConflictError`; ``NEVER`` is the
        version of what must not be there yet.

        Fields that an earlier apply held and this one leaves out are given up. A map that may
        come to be empty is left out, not sent as ``{}``: the server refuses a map of a custom
        resource that an apply empties.
        """
        ...

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None,
        labels: Mapping[str, str] | None = None,
    ) -> Sequence[Manifest]:
        """Objects of a kind; ``namespace`` None: of all namespaces."""
        ...

    async def delete(self, ref: Ref, *, uid: str | None = None) -> bool:
        """Delete with background propagation; whether it was there. ``uid``: only this one."""
        ...
