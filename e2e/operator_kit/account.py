"""The operator's service account, with the rights that a test gives it and no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from e2e.cluster import ControlPlane
from e2e.cluster.commands import WATCHED_ACCOUNT
from e2e.cluster.identity import kubeconfig, private
from ragbase_operator.rbac.rules import Rule

__all__ = ["WATCHED_ACCOUNT", "grant", "make_account"]

_NAMESPACE, _NAME = WATCHED_ACCOUNT.split(":")[2:]
_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_APPLY = "application/apply-patch+yaml"
_SUBJECT = {"kind": "ServiceAccount", "name": _NAME, "namespace": _NAMESPACE}


def make_account(server: ControlPlane, folder: Path) -> Path:
    """The account, where it is not there yet, and a kubeconfig with a fresh token of it."""
    accounts = f"/api/v1/namespaces/{_NAMESPACE}/serviceaccounts"
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": _NAMESPACE}})
    server.request("POST", accounts, {"metadata": {"name": _NAME}})
    answer = server.request("POST", f"{accounts}/{_NAME}/token", {"spec": {}})
    assert answer.status == 201, answer.body
    path = folder / "account.kubeconfig"
    private(path, kubeconfig(server.url, server.ca_file, answer.body["status"]["token"]))
    return path


def grant(server: ControlPlane, namespace: str, rules: Sequence[Rule]) -> None:
    """From now on the account may do in ``namespace`` what ``rules`` say, and nothing else."""
    root = f"{_RBAC}/namespaces/{namespace}"
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": _NAME}
    for kind, plural, content in (
        ("Role", "roles", {"rules": list(rules)}),
        ("RoleBinding", "rolebindings", {"roleRef": role, "subjects": [_SUBJECT]}),
    ):
        body = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": _NAME},
            **content,
        }
        path = f"{root}/{plural}/{_NAME}?fieldManager=tests&force=true"
        answer = server.request("PATCH", path, body, content_type=_APPLY)
        assert answer.status in (200, 201), answer.body
