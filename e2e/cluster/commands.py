"""Command lines of the control plane's programs."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.cluster.identity import CONTROLLERS, Identity

__all__ = ["apiserver", "controller_manager", "etcd"]

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Metadata"},
    ],
}
"""Every request that asks for a change, once it is answered."""

SERVICES = "10.96.0.0/16"
"""Addresses of Services; nothing routes them here."""


def etcd(program: Path, folder: Path, ports: tuple[int, int]) -> list[str]:
    """One member that never waits for the disk; ``ports`` for clients and for peers."""
    client, peer = (f"http://127.0.0.1:{port}" for port in ports)
    return [
        str(program),
        "--name=tests",
        f"--data-dir={folder / 'etcd'}",
        "--unsafe-no-fsync",
        "--log-level=warn",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=tests={peer}",
    ]


def apiserver(
    program: Path, folder: Path, identity: Identity, port: int, etcd_port: int
) -> list[str]:
    """On the loopback, with static tokens, RBAC, and an audit log of all writes."""
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
    return [
        str(program),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        "--endpoint-reconciler-type=none",
        f"--service-cluster-ip-range={SERVICES}",
        f"--tls-cert-file={identity.certificate}",
        f"--tls-private-key-file={identity.key}",
        f"--cert-dir={folder}",
        f"--token-auth-file={identity.token_file}",
        "--anonymous-auth=false",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={identity.key}",
        f"--service-account-signing-key-file={identity.key}",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-mode=blocking",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def controller_manager(program: Path, identity: Identity, port: int) -> list[str]:
    """All controllers, each as its own service account.

    The default rate of 20 requests a second would make the first objects wait 5 s.
    """
    return [
        str(program),
        f"--kubeconfig={identity.kubeconfigs[CONTROLLERS]}",
        "--authentication-skip-lookup=true",
        "--authorization-always-allow-paths=/healthz",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--leader-elect=false",
        "--use-service-account-credentials=true",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        f"--service-account-private-key-file={identity.key}",
        f"--root-ca-file={identity.certificate}",
        f"--service-cluster-ip-range={SERVICES}",
        "--profiling=false",
    ]
