"""What the tests of CRDs ask of an API server."""

from __future__ import annotations

import http.client
import json
import secrets
import ssl
import time
from typing import Any, NamedTuple

from e2e.cluster import ControlPlane
from e2e.cluster.request import Answer, as_json
from ragbase_operator.crd.manifest import definition
from ragbase_operator.models.kinds import API_VERSION, KINDS, Kind
from ragbase_operator.models.manifest import Manifest

__all__ = ["CRD_PATH", "Fault", "Server", "faults", "manifest"]

CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Fault(NamedTuple):
    """One reason for which an object was refused: the field, and the words."""

    field: str
    message: str


def faults(answer: Answer) -> list[Fault]:
    """All reasons of a refusal; none of an object that was accepted."""
    if answer.status < 300:
        return []
    causes = answer.body.get("details", {}).get("causes", [])
    assert causes, answer.body
    return [Fault(each.get("field", ""), each["message"]) for each in causes]


def manifest(kind: Kind, spec: dict[str, Any] | None, name: str = "") -> Manifest:
    """A custom resource; without ``spec`` where that is None."""
    name = name or f"t-{secrets.token_hex(5)}"
    made: Manifest = {"apiVersion": API_VERSION, "kind": kind.name, "metadata": {"name": name}}
    return made if spec is None else {**made, "spec": spec}


class Server:
    """A namespace of an API server; one connection for all requests, for there are many."""

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self.control_plane = control_plane
        self.namespace = namespace
        context = ssl.create_default_context(cafile=str(control_plane.ca_file))
        netloc = control_plane.url.removeprefix("https://")
        self._connection = http.client.HTTPSConnection(netloc, context=context, timeout=30)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def install(self, timeout_s: float = 30) -> None:
        """Apply all CRDs and wait until they are served."""
        for kind in KINDS:
            answer = self.apply_crd(kind)
            assert answer.status in (200, 201), answer.body
        end = time.monotonic() + timeout_s
        while not all(self._request("GET", kind).status == 200 for kind in KINDS):
            assert time.monotonic() < end, "the CRDs are not served"
            time.sleep(0.05)

    def apply_crd(self, kind: Kind) -> Answer:
        """Server-side apply of a CRD."""
        body = definition(kind)
        path = f"{CRD_PATH}/{body['metadata']['name']}?fieldManager=tests&force=true"
        kind_of_patch = "application/apply-patch+yaml"
        return self.control_plane.request("PATCH", path, body, content_type=kind_of_patch)

    def create(self, kind: Kind, body: Manifest, *, dry: bool = False, query: str = "") -> Answer:
        """Create an object, or ask whether it would be accepted."""
        return self._request("POST", kind, "", body, ("dryRun=All&" if dry else "") + query)

    def made(self, kind: Kind, spec: dict[str, Any] | None) -> Manifest:
        """An object that was created, as the server holds it."""
        answer = self.create(kind, manifest(kind, spec))
        assert answer.status == 201, answer.body
        return answer.body

    def replace(self, kind: Kind, body: Manifest, *, part: str = "", dry: bool = True) -> Answer:
        """Replace an object, or a ``part`` of it such as ``status``."""
        path = body["metadata"]["name"] + (f"/{part}" if part else "")
        return self._request("PUT", kind, path, body, "dryRun=All" if dry else "")

    def read(self, kind: Kind, path: str) -> Answer:
        """Read an object, or a subresource of it."""
        return self._request("GET", kind, path)

    def table(self, kind: Kind, name: str) -> dict[str, Any]:
        """What ``kubectl get -o wide`` shows of an object: cells by column."""
        found = self._request("GET", kind, name, accept=TABLE).body
        names = [column["name"] for column in found["columnDefinitions"]]
        return dict(zip(names, found["rows"][0]["cells"], strict=True))

    def _path(self, kind: Kind, rest: str) -> str:
        base = f"/apis/{API_VERSION}/namespaces/{self.namespace}/{kind.plural}"
        return f"{base}/{rest}" if rest else base

    def _request(
        self,
        method: str,
        kind: Kind,
        rest: str = "",
        body: Any = None,
        query: str = "",
        accept: str = "application/json",
    ) -> Answer:
        headers = {
            "Authorization": f"Bearer {self.control_plane.token()}",
            "Content-Type": "application/json",
            "Accept": accept,
        }
        sent = None if body is None else json.dumps(body)
        path = self._path(kind, rest) + (f"?{query}" if query else "")
        self._connection.request(method, path, sent, headers)
        answer = self._connection.getresponse()
        warnings = answer.headers.get_all("Warning", [])
        return Answer(answer.status, as_json(answer.read()), warnings)
