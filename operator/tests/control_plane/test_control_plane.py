"""The control plane itself: what tests against it take for granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.cluster import ControlPlane
from e2e.cluster.version import KUBERNETES

CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}


def test_version_is_the_one_that_the_module_pins(api_server: ControlPlane) -> None:
    assert api_server.request("GET", "/version").body["gitVersion"] == KUBERNETES


def test_strangers_are_refused_and_plain_users_have_no_rights(
    api_server: ControlPlane, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    assert api_server.request("GET", path, user="plain").status == 403
    assert api_server.request("GET", path, user="operator").status == 403
    assert api_server.request("GET", path).status == 200


def test_writes_are_counted_by_user_and_reads_are_not(
    api_server: ControlPlane, namespace: str
) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    api_server.request("POST", path, CONFIG_MAP)
    api_server.request("GET", f"{path}/one")
    api_server.request("POST", path, CONFIG_MAP, user="plain")
    found = [
        (write.user, write.verb, write.resource, write.name, write.code)
        for write in api_server.writes()
        if write.namespace == namespace and write.user in ("admin", "plain")
    ]
    assert found == [
        ("admin", "create", "configmaps", "one", 201),
        ("plain", "create", "configmaps", "", 403),
    ]
    assert {write.user for write in api_server.writes("plain")} == {"plain"}


def test_data_outlive_a_restart_of_the_api_server(api_server: ControlPlane, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    api_server.request("POST", path, CONFIG_MAP)
    api_server.stop_api_server()
    with pytest.raises(OSError, match="refused"):
        api_server.request("GET", path)
    api_server.start_api_server()
    assert api_server.request("GET", f"{path}/one").status == 200


def test_credentials_are_private(api_server: ControlPlane) -> None:
    secrets: list[Path] = [api_server.kubeconfig(user) for user in ("admin", "operator", "plain")]
    secrets += [api_server.identity.token_file, api_server.identity.key]
    assert {path.stat().st_mode & 0o077 for path in secrets} == {0}
