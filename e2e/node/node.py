"""The node as its first process sees it: what is started, in which order."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from e2e.cluster.binaries import Binaries
from e2e.cluster.control_plane import ControlPlane, NodeAccess
from e2e.cluster.daemon import Daemon, wait_until
from e2e.node import configuration
from e2e.node.addresses import (
    API_PORT,
    DNS_ADDRESS,
    NODE_ADDRESS,
    NODE_NAME,
    SERVICE_ADDRESS,
)
from e2e.node.images import import_archive, system_images
from e2e.node.network import cni_configuration, dns_answers
from e2e.node.volumes import local_volumes

__all__ = ["Node"]

MANIFESTS = Path(__file__).parent / "manifests"

ACCESS = NodeAccess(
    address=NODE_ADDRESS,
    port=API_PORT,
    names=(
        f"IP:{NODE_ADDRESS}",
        f"IP:{SERVICE_ADDRESS}",
        "DNS:kubernetes",
        "DNS:kubernetes.default",
        "DNS:kubernetes.default.svc.cluster.local",
    ),
    users=configuration.DAEMONS,
)

PATIENCE_S = 120.0
"""For each step of the start, on a machine that is busy."""


class Node:
    """Starts on `start`; everything ends with the process (see `inside`)."""

    def __init__(self, programs: Path, binaries: Binaries, folder: Path) -> None:
        self.programs = programs
        self.folder = folder
        self.control_plane = ControlPlane(binaries, ACCESS)
        identity = self.control_plane.identity
        daemons = {
            "containerd": configuration.containerd(folder),
            "kube-scheduler": configuration.scheduler(programs / "kube-scheduler", identity),
            "kube-proxy": configuration.kube_proxy(programs / "kube-proxy", identity, folder),
            "kubelet": configuration.kubelet(programs / "kubelet", identity, folder),
        }
        self._daemons = {name: Daemon(name, args, folder) for name, args in daemons.items()}

    def start(self, say: Callable[[str], None]) -> None:
        """Bring everything up; ``say`` is told what is done.

        Raises:
            RuntimeError: a daemon did not come up; the message holds its last words.
        """
        containerd = self._daemons["containerd"]
        Path("/etc/cni/net.d/10-node.conflist").write_text(json.dumps(cni_configuration()))
        containerd.start()
        self.control_plane.__enter__()
        say("API server ready")
        wait_until(containerd_answers, PATIENCE_S, containerd)
        for archive in system_images(self.programs, self.folder / "images"):
            import_archive(archive)
        say("images of the node imported")
        for name in ("kube-scheduler", "kube-proxy", "kubelet"):
            self._daemons[name].start()
        self._apply_system()
        kubelet = self._daemons["kubelet"]
        wait_until(self._is_ready, PATIENCE_S, kubelet)
        say("node Ready")
        wait_until(cluster_dns_answers, PATIENCE_S, kubelet)
        say("DNS answers")

    def poll(self) -> list[str]:
        """Names of the node's daemons that have died."""
        return [name for name, daemon in self._daemons.items() if daemon.pid is None]

    def pids(self) -> set[int]:
        """Processes that are ours to wait for."""
        own = {daemon.pid for daemon in self._daemons.values()} - {None}
        return {pid for pid in own if pid is not None} | set(self.control_plane.pids())

    def stop(self) -> None:
        """End what writes to the images that stay; all else ends with our process."""
        for name in ("kubelet", "containerd"):
            self._daemons[name].stop()

    def _apply_system(self) -> None:
        """DNS, the StorageClass and volumes."""
        for name in ("dns.yaml", "storage.yaml"):
            self._apply((MANIFESTS / name).read_text())
        self._apply(as_list(local_volumes(self.folder / "volumes")))

    def _apply(self, manifest: str) -> None:
        kubectl = str(self.programs / "kubectl")
        command = [kubectl, f"--kubeconfig={self.control_plane.kubeconfig()}"]
        command += ["apply", "--server-side", "-f", "-"]
        done = subprocess.run(command, input=manifest, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"kubectl apply: {done.stderr.strip()[-500:]}")

    def _is_ready(self) -> bool:
        answer = self.control_plane.request("GET", f"/api/v1/nodes/{NODE_NAME}")
        conditions = answer.body.get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def containerd_answers() -> bool:
    """Whether containerd serves its socket."""
    return subprocess.run(["ctr", "version"], capture_output=True, check=False).returncode == 0


def cluster_dns_answers() -> bool:
    """Whether a name is resolved through the Service: kube-proxy, the pod, and its watch work."""
    return dns_answers(DNS_ADDRESS, "kubernetes.default.svc.cluster.local")


def as_list(objects: Iterable[dict[str, Any]]) -> str:
    """One manifest of many objects."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
