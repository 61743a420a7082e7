"""A pod that calls an API by its Service, with the key of the Secret ``<ragbase>-client``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from e2e.scenarios.kube import Kube, Manifest, pod_state, wait_for

__all__ = ["Answer", "Caller", "start_caller"]

PYTHON = "/opt/ragbase/bin/python"

WAITING = "import signal; signal.sigwait({signal.SIGTERM})"

CALL = """
import json, os, sys, urllib.error, urllib.request
method, path, body, key = json.loads(sys.argv[1])
headers = {"Content-Type": "application/json"}
if key is None:
    key = os.environ["API_KEY"]
if key:
    headers["Authorization"] = "Bearer " + key
data = None if body is None else json.dumps(body).encode()
request = urllib.request.Request(os.environ["API_URL"] + path, data, headers, method=method)
try:
    with urllib.request.urlopen(request, timeout=60) as response:
        print(json.dumps([response.status, response.read().decode()]))
except urllib.error.HTTPError as error:
    print(json.dumps([error.code, error.read().decode()]))
except OSError as error:
    print(json.dumps([0, str(error)]))
"""
"""One request; prints status and body, with status 0 where nobody answers."""


class Answer(NamedTuple):
    """Status and body; status 0 where nobody answered."""

    status: int
    body: Any


@dataclass(frozen=True, slots=True)
class Caller:
    """The pod."""

    kube: Kube
    namespace: str
    pod: str

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> Answer:
        """One request, with the client's key, or another one; an empty one is none."""
        arguments = json.dumps([method, path, body, key])
        printed = self.kube.execute(self.pod, self.namespace, [PYTHON, "-c", CALL, arguments])
        status, text = json.loads(printed)
        try:
            return Answer(status, json.loads(text))
        except ValueError:
            return Answer(status, text)

    def ingest(self, documents: Mapping[str, str]) -> None:
        """Store documents: external ids, which are their titles, too, and texts."""
        items = [
            {"external_id": name, "title": name, "content": content}
            for name, content in documents.items()
        ]
        answer = self.call("POST", "/v1/documents/batch", items)
        assert answer.status == 200, answer
        assert {each["status"] for each in answer.body["results"]} <= {200, 201}, answer

    def search(self, query: str, mode: str = "hybrid", top_k: int = 3) -> Sequence[str]:
        """External ids of the best rows."""
        path = "/v1/search" if mode == "hybrid" else f"/v1/search/{mode}"
        answer = self.call("POST", path, {"query": query, "top_k": top_k})
        assert answer.status == 200, answer
        assert not answer.body["degraded"], answer
        return [row["external_id"] for row in answer.body["results"]]


def start_caller(
    kube: Kube, ragbase: str, namespace: str, image: str, url_key: str = "url"
) -> Caller:
    """Start the pod, anew if there is one: a key may be another. ``url_key``: of the Secret, the
    API that it calls."""
    name = f"caller-{ragbase}" + ("" if url_key == "url" else f"-{url_key.lower()}")
    kube.delete("Pod", name, namespace, grace_s=0)
    wait_for(lambda: kube.get("Pod", name, namespace) is None, 60, lambda: f"{name} stays")
    kube.apply(caller_pod(name, f"{ragbase}-client", namespace, image, url_key))

    def runs() -> bool:
        pod = kube.get("Pod", name, namespace) or {}
        return bool((pod.get("status") or {}).get("phase") == "Running")

    wait_for(runs, 120, lambda: pod_state(kube.get("Pod", name, namespace) or {}))
    return Caller(kube, namespace, name)


def caller_pod(
    name: str, secret: str, namespace: str, image: str, url_key: str = "url"
) -> Manifest:
    """A pod as restricted namespaces want it, of the product's image for its Python."""
    env = [
        {"name": variable, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}
        for variable, key in (("API_URL", url_key), ("API_KEY", "apiKey"))
    ]
    container = {
        "name": "caller",
        "image": image,
        "command": [PYTHON, "-c", WAITING],
        "env": env,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }
