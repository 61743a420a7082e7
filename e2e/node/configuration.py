"""Command lines and configuration files of the node's daemons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from e2e.cluster.identity import Identity
from e2e.node.addresses import DNS_ADDRESS, NODE_ADDRESS, NODE_NAME, POD_RANGE

__all__ = ["CONTAINERD_SOCKET", "DAEMONS", "containerd", "kube_proxy", "kubelet", "scheduler"]

CONTAINERD_SOCKET: Final = "/run/containerd/containerd.sock"

SANDBOX: Final = "localhost/pause:1"

DAEMONS: Final = {
    "kubelet": (f"system:node:{NODE_NAME}", "system:nodes"),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
}
"""Users that the daemons are: names here, to names and groups in the cluster."""


def containerd(folder: Path) -> list[str]:
    """containerd 1.6 or 1.7. Without CAP_SYS_RESOURCE, runc may not lower oom_score_adj."""
    file = folder / "containerd.toml"
    file.write_text(
        f"""version = 2
imports = []
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{SANDBOX}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
"""
    )
    return ["containerd", f"--config={file}"]


def scheduler(program: Path, identity: Identity) -> list[str]:
    """Without leader election, and without the default rate of 50 requests a second."""
    return [
        str(program),
        f"--kubeconfig={identity.kubeconfigs['scheduler']}",
        "--authentication-skip-lookup=true",
        "--authorization-always-allow-paths=/healthz",
        "--bind-address=127.0.0.1",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--profiling=false",
    ]


def kube_proxy(program: Path, identity: Identity, folder: Path) -> list[str]:
    """Rules of nftables. Limits of connection tracking are the machine's: they are left alone."""
    zero = dict.fromkeys(("tcpEstablishedTimeout", "tcpCloseWaitTimeout"), "0s")
    config = {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": str(identity.kubeconfigs["proxy"])},
        "clusterCIDR": POD_RANGE,
        "hostnameOverride": NODE_NAME,
        "bindAddress": NODE_ADDRESS,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        "nftables": {"minSyncPeriod": "100ms"},
        "conntrack": {"maxPerCore": 0, "min": 0, "udpTimeout": "0s", **zero},
    }
    return [str(program), f"--config={written(folder / 'kube-proxy.json', config)}"]


def kubelet(program: Path, identity: Identity, folder: Path) -> list[str]:
    """On cgroup v1 or v2. Its one client is the API server, by certificate: it may do everything.

    Images are never collected: they could not be pulled again.
    """
    names = folder / "resolv.conf"
    names.touch()
    config: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        "enforceNodeAllocatable": ["pods"],
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": False},
            "x509": {"clientCAFile": str(identity.certificate)},
        },
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCertFile": str(identity.certificate),
        "tlsPrivateKeyFile": str(identity.key),
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": str(names),
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%"},
        "nodeStatusUpdateFrequency": "10s",
    }
    return [
        str(program),
        f"--config={written(folder / 'kubelet.json', config)}",
        f"--kubeconfig={identity.kubeconfigs['kubelet']}",
        f"--hostname-override={NODE_NAME}",
        f"--node-ip={NODE_ADDRESS}",
    ]


def written(path: Path, config: dict[str, Any]) -> Path:
    """Write a configuration file (JSON is YAML)."""
    path.write_text(json.dumps(config, indent=2))
    return path
