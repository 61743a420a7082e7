"""Being a service account of the cluster, to see whether its rights suffice."""

from __future__ import annotations

from pathlib import Path

import yaml

from e2e.cluster import ControlPlane

__all__ = ["kubeconfig_of"]


def kubeconfig_of(server: ControlPlane, namespace: str, account: str, folder: Path) -> Path:
    """A kubeconfig with a fresh token of a service account, written into ``folder``."""
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    answer = server.request("POST", path, asked)
    assert answer.status == 201, answer.body
    config = yaml.safe_load(server.kubeconfig("admin").read_text())
    config["users"][0]["user"] = {"token": answer.body["status"]["token"]}
    target = folder / f"{account}.kubeconfig"
    target.touch(mode=0o600)
    target.write_text(yaml.safe_dump(config))
    return target
