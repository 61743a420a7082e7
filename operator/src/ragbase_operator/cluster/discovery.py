"""From an API version and a kind to a path, by asking the API server once for each version."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import quote

from ragbase_operator.cluster.errors import error_of
from ragbase_operator.cluster.port import KindAbsentError
from ragbase_operator.cluster.transport import Transport
from ragbase_operator.models.manifest import Ref

__all__ = ["Discovery", "Resource", "group_path"]

ABSENCE_S = 5.0
"""Seconds for which an absent kind is believed absent: its CRD may come at any time."""


@dataclass(frozen=True, slots=True)
class Resource:
    """How a kind is addressed."""

    group_path: str
    """``/api/v1`` or ``/apis/GROUP/VERSION``."""
    plural: str
    namespaced: bool

    def path(self, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
        """Of an object, or of a collection where ``name`` is empty."""
        parts = [self.group_path]
        if self.namespaced and namespace:
            parts += ["namespaces", quote(namespace, safe="")]
        parts.append(self.plural)
        parts += [quote(part, safe="") for part in (name, subresource) if part]
        return "/".join(parts)


@dataclass(slots=True)
class Version:
    """The kinds of one API version, and when they were read (monotonic seconds)."""

    kinds: dict[str, Resource] = field(default_factory=dict)
    read: float = 0.0


class Discovery:
    """Remembers what was found; `forget` after a 404 that should not be."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._versions: dict[str, Version] = {}

    async def find(self, api_version: str, kind: str) -> Resource:
        """The resource of a kind.

        Raises:
            KindAbsentError: the server does not know it.
            ClusterError: the server did not answer.
        """
        version = self._versions.get(api_version)
        if version is None or (kind not in version.kinds and is_old(version)):
            version = Version(await self._read(api_version), time.monotonic())
            self._versions[api_version] = version
        if kind not in version.kinds:
            raise KindAbsentError(f"the cluster does not know {kind} of {api_version}")
        return version.kinds[kind]

    def forget(self, api_version: str) -> None:
        """Ask again next time: the kind may have gone or changed."""
        self._versions.pop(api_version, None)

    async def _read(self, api_version: str) -> dict[str, Resource]:
        """The kinds of a version (metav1.APIResourceList); none where it is not served."""
        path = group_path(api_version)
        response = await self._transport.request("GET", path)
        if response.status == HTTPStatus.NOT_FOUND:
            return {}
        if not response.ok:
            raise error_of(Ref(api_version, "APIResourceList", "", ""), response)
        return {
            each["kind"]: Resource(path, each["name"], each["namespaced"])
            for each in response.body.get("resources", [])
            if "/" not in each["name"]
        }


def is_old(version: Version) -> bool:
    """Whether an absence in it may have ended."""
    return time.monotonic() - version.read > ABSENCE_S


def group_path(api_version: str) -> str:
    """Where the API server lists the kinds of a version."""
    return f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
