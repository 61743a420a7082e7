"""The port to a real cluster, over kubernetes_asyncio."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Final

from ragbase_operator.cluster.config import load_configuration
from ragbase_operator.cluster.discovery import Discovery, Resource
from ragbase_operator.cluster.errors import error_of
from ragbase_operator.cluster.port import ClusterError, ConflictError
from ragbase_operator.cluster.transport import Response, Transport
from ragbase_operator.models.manifest import Manifest, Ref, ref_of

__all__ = ["FIELD_MANAGER", "KubernetesCluster"]

FIELD_MANAGER = "ragbase-operator"

APPLY = "application/apply-patch+yaml"
"""Server-side apply; JSON is YAML."""

REPLICAS: Final[Manifest] = {"f:spec": {"f:replicas": {}}}
"""The one field of which it matters who holds it: an autoscaler may."""

PAGE = 500
"""Objects in one response of a list."""


class KubernetesCluster:
    """Implements `Cluster`. Of ``managedFields``, half the size of an object, one field is kept."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._discovery = Discovery(transport)

    @classmethod
    async def connect(cls, kubeconfig: Path | None = None) -> KubernetesCluster:
        """A client in a pod, or by a kubeconfig; connections open with the first request."""
        return cls(Transport(await load_configuration(kubeconfig)))

    async def __aenter__(self) -> KubernetesCluster:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    async def apply(self, manifest: Manifest, *, subresource: str | None = None) -> Manifest:
        """See `Cluster.apply`."""
        ref = ref_of(manifest)
        query = (("fieldManager", FIELD_MANAGER), ("force", "true"))
        response = await self._ask("PATCH", ref, query, manifest, subresource or "", APPLY)
        if not response.ok:
            raise error_of(ref, response)
        return slim(response.body)

    async def list(
        self,
        api_version: str,
        kind: str,
        namespace: str | None,
        labels: Mapping[str, str] | None = None,
    ) -> Sequence[Manifest]:
        """See `Cluster.list`."""
        ref = Ref(api_version, kind, namespace or "", "")
        selector = ",".join(f"{name}={value}" for name, value in (labels or {}).items())
        query = [("limit", str(PAGE))] + ([("labelSelector", selector)] if selector else [])
        objects: list[Manifest] = []
        token = ""
        while True:
            page = [*query, ("continue", token)] if token else query
            response = await self._ask("GET", ref, page)
            if response.status == HTTPStatus.GONE:
                raise ClusterError(f"{ref}: the list changed too much while it was read")
            if not response.ok:
                raise error_of(ref, response)
            objects += [named(each, ref) for each in response.body["items"]]
            token = response.body["metadata"].get("continue", "")
            if not token:
                return objects

    async def delete(self, ref: Ref, *, uid: str | None = None) -> bool:
        """See `Cluster.delete`."""
        options: Manifest = {"propagationPolicy": "Background"}
        if uid:
            options["preconditions"] = {"uid": uid}
        response = await self._ask("DELETE", ref, body=options)
        if response.ok:
            return True
        if response.status == HTTPStatus.NOT_FOUND:
            return False
        error = error_of(ref, response)
        if uid and isinstance(error, ConflictError):
            return False  # the name belongs to another object now
        raise error

    async def _ask(
        self,
        method: str,
        ref: Ref,
        query: Sequence[tuple[str, str]] = (),
        body: Manifest | None = None,
        subresource: str = "",
        content_type: str = "application/json",
    ) -> Response:
        """A request on an object or a collection.

        A 404 for the path itself means that the kind has gone, or is served otherwise than it
        was: it is looked up again, once.
        """
        for last in (False, True):
            resource = await self._discovery.find(ref.api_version, ref.kind)
            path = path_of(resource, ref, subresource)
            response = await self._transport.request(method, path, query, body, content_type)
            if last or not is_unknown_path(response):
                break
            self._discovery.forget(ref.api_version)
        return response


def path_of(resource: Resource, ref: Ref, subresource: str) -> str:
    """The path of an object, or of a collection if the name is empty."""
    return resource.path(ref.namespace, ref.name, subresource)


def is_unknown_path(response: Response) -> bool:
    """Whether it is the 404 of a path that is not served, not that of an absent object: it names
    no kind in its details (k8s.io/apimachinery NewGenericServerResponse), or is no Status."""
    details = response.body.get("details", {})
    return response.status == HTTPStatus.NOT_FOUND and not details.get("name")


def named(item: Manifest, ref: Ref) -> Manifest:
    """An item of a list, with the API version and kind that lists leave out."""
    return {"apiVersion": ref.api_version, "kind": ref.kind, **slim(item)}


def slim(manifest: Manifest) -> Manifest:
    """The object, of whose ``managedFields`` only who holds `spec.replicas` is left."""
    metadata = manifest.get("metadata", {})
    holders = [
        {"manager": entry.get("manager", ""), "fieldsV1": REPLICAS}
        for entry in metadata.pop("managedFields", None) or ()
        if "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
    ]
    if holders:
        metadata["managedFields"] = holders
    return manifest
