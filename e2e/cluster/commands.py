"""Command lines of the control plane's programs."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.cluster.identity import CONTROLLERS, Identity

__all__ = ["READS", "SERVICES", "WATCHED_ACCOUNT", "apiserver", "controller_manager", "etcd"]

READS = ("get", "list", "watch")
"""Verbs that change nothing."""

WATCHED_ACCOUNT = "system:serviceaccount:ragbase-system:ragbase-operator"
"""The service account whose reads are on record, too."""

AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "Metadata", "users": [WATCHED_ACCOUNT], "verbs": list(READS)},
        {"level": "None", "verbs": list(READS)},
        {"level": "Metadata", "omitStages": ["ResponseStarted"]},
    ],
}
"""Every request that asks for a change, once it is answered; and what one account reads."""

SERVICES = "10.96.0.0/16"
"""Addresses of Services; only a node routes them."""


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
    program: Path,
    folder: Path,
    identity: Identity,
    ports: tuple[int, int],
    node_address: str | None = None,
) -> list[str]:
    """With static tokens, RBAC, and an audit log of all writes; ``ports`` its own and etcd's.

    On the loopback, or for a node of the address ``node_address``.
    """
    port, etcd_port = ports
    where = on_the_loopback() if node_address is None else for_a_node(identity, node_address)
    policy = folder / "audit-policy.json"
    policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
    return [
        str(program),
        f"--etcd-servers=http://127.0.0.1:{etcd_port}",
        *where,
        f"--secure-port={port}",
        f"--service-cluster-ip-range={SERVICES}",
        f"--tls-cert-file={identity.certificate}",
        f"--tls-private-key-file={identity.key}",
        f"--cert-dir={folder}",
        f"--token-auth-file={identity.token_file}",
        "--anonymous-auth=false",
        # As OpenShift does: who makes an object that blocks its owner's deletion must be allowed to.
        "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={identity.key}",
        f"--service-account-signing-key-file={identity.key}",
        f"--audit-policy-file={policy}",
        f"--audit-log-path={folder / 'audit.log'}",
        "--audit-log-mode=blocking",
        "--allow-privileged=true",
        "--profiling=false",
    ]


def on_the_loopback() -> list[str]:
    """No pod reaches it: the Service `kubernetes` has no endpoint."""
    return [
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--authorization-mode=RBAC",
    ]


def for_a_node(identity: Identity, address: str) -> list[str]:
    """Reached by pods at ``address``; a client of the kubelet, and trusting it, by one certificate."""
    return [
        "--bind-address=0.0.0.0",
        f"--advertise-address={address}",
        "--authorization-mode=Node,RBAC",
        "--enable-admission-plugins=NodeRestriction",
        f"--kubelet-client-certificate={identity.certificate}",
        f"--kubelet-client-key={identity.key}",
        f"--kubelet-certificate-authority={identity.certificate}",
        "--kubelet-preferred-address-types=InternalIP",
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
