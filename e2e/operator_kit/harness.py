"""A namespace of a real API server in which the operator runs, and a kubelet that is played."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from e2e.cluster import ControlPlane
from e2e.operator_kit.patience import patience
from ragbase_operator.models.manifest import Manifest

CRDS = Path(__file__).parents[2] / "crds"
RAGBASES = "/apis/ragbase.dev/v1alpha1/namespaces/{}/ragbases"
PATHS = {
    "Deployment": "/apis/apps/v1/namespaces/{}/deployments",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "CronJob": "/apis/batch/v1/namespaces/{}/cronjobs",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Service": "/api/v1/namespaces/{}/services",
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "PersistentVolumeClaim": "/api/v1/namespaces/{}/persistentvolumeclaims",
    "Event": "/api/v1/namespaces/{}/events",
    "RagBase": RAGBASES,
    "RagBaseBackup": "/apis/ragbase.dev/v1alpha1/namespaces/{}/ragbasebackups",
    "RagBaseRestore": "/apis/ragbase.dev/v1alpha1/namespaces/{}/ragbaserestores",
    "RagBaseBenchmark": "/apis/ragbase.dev/v1alpha1/namespaces/{}/ragbasebenchmarks",
}
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"


class Harness:
    """What a user and a kubelet do in one namespace, and the operator as a process."""

    def __init__(self, server: ControlPlane, namespace: str, log: Path) -> None:
        self.server = server
        self.namespace = namespace
        self.log = log
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self, **environment: str) -> None:
        """Start the operator."""
        with self.log.open("ab") as out:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(Path(__file__).with_name("running.py")),
                env={
                    **os.environ,
                    "KUBECONFIG": str(self.server.kubeconfig("admin")),
                    "RAGBASE_OPERATOR_NAMESPACES": self.namespace,
                    "RAGBASE_OPERATOR_HOST": "127.0.0.1",
                    "RAGBASE_OPERATOR_HEALTH_PORT": "0",
                    "RAGBASE_OPERATOR_METRICS_PORT": "0",
                    **environment,
                },
                stdout=out,
                stderr=out,
            )

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End the operator; its exit status."""
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(how)
        async with asyncio.timeout(patience(30)):
            code = await self._process.wait()
        self._process = None
        return code

    async def close(self) -> None:
        if self._process is not None:
            await self.stop(signal.SIGKILL)

    async def create(self, spec: Mapping[str, Any] | None = None, name: str = "kb") -> None:
        self.write("RagBase", name, {"spec": dict(spec or {})})

    def write(self, kind: str, name: str, content: Mapping[str, Any]) -> None:
        """Apply an object as a user does."""
        path = PATHS[kind].format(self.namespace)
        version = path.removeprefix("/apis/").removeprefix("/api/").split("/namespaces")[0]
        body = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **content}
        answer = self.server.request(
            "PATCH", f"{path}/{name}?fieldManager=kubectl", body, content_type=APPLY
        )
        assert answer.status in (200, 201), answer.body

    def patch(self, kind: str, name: str, change: Mapping[str, Any], sub: str = "") -> int:
        """Merge ``change`` into an object, as another client does; the status of the answer."""
        path = f"{PATHS[kind].format(self.namespace)}/{name}{sub}?fieldManager=someone"
        return int(self.server.request("PATCH", path, dict(change), content_type=MERGE).status)

    def delete(self, kind: str, name: str) -> None:
        self.server.request("DELETE", f"{PATHS[kind].format(self.namespace)}/{name}")

    def list(self, kind: str) -> list[Manifest]:
        body = self.server.request("GET", PATHS[kind].format(self.namespace)).body
        items: list[Manifest] = body["items"]
        return items

    def get(self, kind: str, name: str) -> Manifest | None:
        answer = self.server.request("GET", f"{PATHS[kind].format(self.namespace)}/{name}")
        return answer.body if answer.status == 200 else None

    def condition(
        self, kind: str = "Ready", name: str = "kb", of: str = "RagBase"
    ) -> dict[str, Any]:
        body = self.get(of, name) or {}
        conditions = (body.get("status") or {}).get("conditions") or []
        return next((each for each in conditions if each["type"] == kind), {})

    def is_ready(self, name: str = "kb") -> bool:
        return bool(self.condition(name=name).get("status") == "True")

    def play_kubelet(self) -> None:
        """All workloads have their pods, all Jobs are done, all claims are bound.

        Where controllers run, they make the pods, and count them; else that is played too.
        """
        if self.server.has_controllers:
            for pod in self.list("Pod"):
                self._play("Pod", pod, _pod_status(pod))
            return
        for kind in ("Deployment", "StatefulSet"):
            for each in self.list(kind):
                self._play(kind, each, _workload_status(each))
        for each in self.list("Job"):
            self._play("Job", each, COMPLETE)
        for each in self.list("PersistentVolumeClaim"):
            self._play("PersistentVolumeClaim", each, {"phase": "Bound"})

    def _play(self, kind: str, each: Manifest, status: Mapping[str, Any]) -> None:
        now = each.get("status") or {}
        if each["metadata"].get("deletionTimestamp"):
            return
        if any(now.get(name) != value for name, value in status.items()):
            self.patch(kind, each["metadata"]["name"], {"status": status}, "/status")

    async def until(
        self, what: Callable[[], Any], seconds: float = 20, kubelet: bool = False
    ) -> float:
        """Wait for something true, playing the kubelet meanwhile if asked; seconds it took.

        TimeoutError after ``seconds``, or later where the machine is busy with other things.
        """
        started = time.monotonic()
        async with asyncio.timeout(patience(seconds)):
            while not await asyncio.to_thread(what):
                if kubelet:
                    await asyncio.to_thread(self.play_kubelet)
                await asyncio.sleep(0.05)
        return time.monotonic() - started

    async def until_ready(self, name: str = "kb", seconds: float = 30) -> float:
        return await self.until(lambda: self.is_ready(name), seconds, kubelet=True)

    def ports(self) -> tuple[int, int]:
        """Of /healthz and /metrics, from the newest line that tells them."""
        lines = [
            yaml.safe_load(line)
            for line in self.log.read_text().splitlines()
            if "operator_started" in line
        ]
        return lines[-1]["health_port"], lines[-1]["metrics_port"]

    def starts(self) -> int:
        """How many operators have begun so far."""
        return self.log.read_text().count("operator_started") if self.log.exists() else 0

    def fetch(self, port: int, path: str) -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            text: str = answer.read().decode()
        return text

    def rss_mb(self) -> float:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        raise RuntimeError("no VmRSS")


def _workload_status(each: Manifest) -> dict[str, Any]:
    replicas = each["spec"].get("replicas", 1)
    return {
        "observedGeneration": each["metadata"]["generation"],
        "replicas": replicas,
        "readyReplicas": replicas,
        "updatedReplicas": replicas,
        "availableReplicas": replicas,
    }


def _pod_status(pod: Manifest) -> dict[str, Any]:
    """Of a Job's pod: done. Of any other: running and ready."""
    if any(owner["kind"] == "Job" for owner in pod["metadata"].get("ownerReferences") or []):
        return {"phase": "Succeeded"}
    since = "2026-11-30T08:00:00Z"
    ready = [
        {"type": each, "status": "True", "lastTransitionTime": since}
        for each in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
    ]
    return {"phase": "Running"} if _is_running(pod) else {"phase": "Running", "conditions": ready}


def _is_running(pod: Manifest) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


STORAGE_CLASS = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {
        "name": "waiting",
        "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
    },
    "provisioner": "kubernetes.io/no-provisioner",
    "volumeBindingMode": "WaitForFirstConsumer",
}
"""Claims of it wait for their pod, and are no fault."""

COMPLETE = {
    "startTime": "2026-11-30T08:00:00Z",
    "completionTime": "2026-11-30T08:01:00Z",
    "succeeded": 1,
    "conditions": [
        {
            "type": each,
            "status": "True",
            "reason": "CompletionsReached",
            "lastTransitionTime": "2026-11-30T08:01:00Z",
            "lastProbeTime": "2026-11-30T08:01:00Z",
        }
        for each in ("SuccessCriteriaMet", "Complete")
    ],
}


def install_crds(server: ControlPlane) -> None:
    """Apply our CRDs and wait until their kinds are served."""
    for path in sorted(CRDS.glob("*.yaml")):
        body = yaml.safe_load(path.read_text())
        name = body["metadata"]["name"]
        answer = server.request(
            "PATCH",
            f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=t&force=true",
            body,
            content_type=APPLY,
        )
        assert answer.status in (200, 201), answer.body
    server.request("POST", "/apis/storage.k8s.io/v1/storageclasses", STORAGE_CLASS)
    deadline = time.monotonic() + 20
    while server.request("GET", RAGBASES.format("default")).status != 200:
        if time.monotonic() > deadline:
            raise TimeoutError("the CRDs are not served")
        time.sleep(0.1)
