"""What a user does with a cluster, by the official client."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from kubernetes import client, config, dynamic
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import stream

__all__ = ["Kube", "Manifest", "wait_for"]

Manifest = dict[str, Any]
GROUP = "ragbase.dev/v1alpha1"
NOT_FOUND = 404
MANAGER = "scenarios"


def wait_for(what: Callable[[], Any], timeout_s: float, describe: Callable[[], str]) -> Any:
    """The first true value of ``what``, asked twice a second.

    Raises:
        AssertionError: none within ``timeout_s``; ``describe`` says how things stand.
    """
    end = time.monotonic() + timeout_s
    while not (found := what()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {timeout_s:.0f} s: {describe()}")
        time.sleep(0.5)
    return found


class Kube:
    """One cluster, as its administrator."""

    def __init__(self, kubeconfig: Path, context: str | None = None) -> None:
        self.api = config.new_client_from_config(config_file=str(kubeconfig), context=context)
        self.core = client.CoreV1Api(self.api)
        self._dynamic = dynamic.DynamicClient(self.api)

    def close(self) -> None:
        """End the connections."""
        self.api.rest_client.pool_manager.clear()
        self.api.close()

    def _resource(self, kind: str) -> Any:
        group = GROUP if kind.startswith("RagBase") else None
        if group is None:
            return self._dynamic.resources.get(kind=kind, api_version=VERSIONS.get(kind, "v1"))
        try:
            return self._dynamic.resources.get(kind=kind, api_version=group)
        except dynamic.exceptions.ResourceNotFoundError:
            self._dynamic.resources.invalidate_cache()  # the CRDs came after us
            return self._dynamic.resources.get(kind=kind, api_version=group)

    def apply(self, *manifests: Manifest) -> None:
        """Server-side apply."""
        for each in manifests:
            self._resource(each["kind"]).server_side_apply(
                body=each, field_manager=MANAGER, force_conflicts=True
            )

    def patch(
        self, kind: str, name: str, namespace: str | None, change: Mapping[str, Any]
    ) -> Manifest:
        """Merge a change into an object."""
        found = self._resource(kind).patch(
            body=dict(change),
            name=name,
            namespace=namespace,
            content_type="application/merge-patch+json",
        )
        return plain(found)

    def get(self, kind: str, name: str, namespace: str | None = None) -> Manifest | None:
        """An object, or None."""
        try:
            return plain(self._resource(kind).get(name=name, namespace=namespace))
        except ApiException as error:
            if error.status == NOT_FOUND:
                return None
            raise

    def list(
        self, kind: str, namespace: str | None = None, selector: str | None = None
    ) -> list[Manifest]:
        """Objects of a kind."""
        found = self._resource(kind).get(namespace=namespace, label_selector=selector)
        items: list[Manifest] = plain(found)["items"]
        return items

    def delete(
        self, kind: str, name: str, namespace: str | None = None, grace_s: int | None = None
    ) -> None:
        """Begin to delete an object; fine if there is none."""
        options = {} if grace_s is None else {"gracePeriodSeconds": grace_s}
        try:
            self._resource(kind).delete(name=name, namespace=namespace, body=options)
        except ApiException as error:
            if error.status != NOT_FOUND:
                raise

    def scale(self, kind: str, name: str, namespace: str, replicas: int) -> None:
        """What `kubectl scale` does."""
        self._resource(kind).scale.patch(
            body={"spec": {"replicas": replicas}},
            name=name,
            namespace=namespace,
            content_type="application/merge-patch+json",
        )

    def set_node_resource(self, node: str, resource: str, amount: str | None) -> None:
        """Have a node's status say how much of an extended resource it has; None: none of it."""
        change = {part: {resource: amount} for part in ("capacity", "allocatable")}
        self._resource("Node").status.patch(
            body={"status": change}, name=node, content_type="application/merge-patch+json"
        )

    def proxied(self, pod: str, namespace: str, port: int, path: str) -> str:
        """The body of a GET to a pod, through the API server."""
        text: str = self.core.connect_get_namespaced_pod_proxy_with_path(
            f"{pod}:{port}", namespace, path
        )
        return text

    def logs(self, pod: str, namespace: str, lines: int = 20) -> str:
        """The end of a pod's log."""
        try:
            text: str = self.core.read_namespaced_pod_log(pod, namespace, tail_lines=lines)
        except ApiException as error:
            return f"(no log: {error.reason})"
        return text

    def execute(self, pod: str, namespace: str, command: Sequence[str]) -> str:
        """Standard output of a command in a pod. Raises AssertionError where it fails."""
        # A client of its own: `stream` changes the one that it is given while it connects.
        own = client.CoreV1Api(client.ApiClient(self.api.configuration))
        channel = stream(
            own.connect_get_namespaced_pod_exec,
            pod,
            namespace,
            command=list(command),
            stderr=True,
            stdin=False,
            stdout=True,
            tty=False,
            _preload_content=False,  # else JSON is parsed, and printed as Python
        )
        channel.run_forever(timeout=120)
        out: str = channel.read_stdout(timeout=0) or ""
        assert channel.returncode == 0, (
            command,
            channel.returncode,
            channel.read_stderr(timeout=0),
        )
        return out

    def condition(self, kind: str, name: str, namespace: str, of: str) -> Manifest:
        """One condition of an object; {} if it has none such."""
        status = (self.get(kind, name, namespace) or {}).get("status") or {}
        found = (each for each in status.get("conditions") or [] if each["type"] == of)
        return next(found, {})

    def story(self, namespace: str, kind: str, name: str) -> str:
        """How an object and its namespace's pods stand, for the message of a failure."""
        status = (self.get(kind, name, namespace) or {}).get("status") or {}
        conditions = [
            f"  {each['type']}={each['status']} {each['reason']}: {each['message']}"
            for each in status.get("conditions") or []
        ]
        pods = [
            f"pod {pod['metadata']['name']}: {pod_state(pod)}"
            for pod in self.list("Pod", namespace)
        ]
        return "\n".join([f"{kind} {name}:", *conditions, *pods])


VERSIONS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "StorageClass": "storage.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "PodDisruptionBudget": "policy/v1",
    "Lease": "coordination.k8s.io/v1",
}
"""API versions of the kinds that are not of the core."""


def plain(found: Any) -> Manifest:
    """What the dynamic client answers, as dictionaries and lists."""
    body: Manifest = found.to_dict()
    return body


def pod_state(pod: Manifest) -> str:
    """Phase and the containers' states in one line."""
    status = pod.get("status") or {}
    states = [each.get("state") for each in status.get("containerStatuses") or []]
    return f"{status.get('phase')} {yaml.safe_dump(states, default_flow_style=True).strip()}"
