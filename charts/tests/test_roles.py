"""Rights: no wildcard, those of the operator's single source, and whom they make able to do what."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.cluster import ControlPlane
from e2e.helm import Helm
from ragbase_operator.models.kinds import GROUP
from ragbase_operator.rbac.rules import rules

from .objects import CHARTS, apply, values_files

CHART = CHARTS / "ragbase-operator"
FILES = [path for path in values_files() if path.parents[1] == CHART]
RAGBASES = "/apis/ragbase.dev/v1alpha1/namespaces/{}/ragbases"


def _roles(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    kinds = {"Role", "ClusterRole"}
    return {each["metadata"]["name"]: each for each in objects if each["kind"] in kinds}


@pytest.mark.parametrize("values", FILES, ids=lambda path: path.stem)
def test_no_rule_has_a_wildcard(helm: Helm, values: Path) -> None:
    for name, role in _roles(helm.template("docs", CHART, f"--values={values}")).items():
        for rule in role["rules"]:
            words = [word for words in rule.values() for word in words]
            assert words, name
            assert not [word for word in words if "*" in word], name


def test_the_operator_has_the_rules_of_its_source_and_no_more(helm: Helm) -> None:
    everywhere = _roles(helm.template("operator", CHART, "--namespace=system"))
    assert everywhere["operator-ragbase-operator:system"]["rules"] == rules(namespaced=False)
    objects = helm.template(
        "operator", CHART, "--namespace=system", "--set=watch.namespaces={one,two}"
    )
    mine = [each for each in objects if each["kind"] == "Role" and "uninstall" not in str(each)]
    assert {each["metadata"]["namespace"] for each in mine} == {"one", "two"}
    assert all(each["rules"] == rules(namespaced=True) for each in mine)
    bound = [each for each in objects if each["kind"] == "ClusterRoleBinding"]
    assert bound == []


def test_what_uninstalls_may_list_and_delete_custom_resources_only(helm: Helm) -> None:
    roles = _roles(helm.template("operator", CHART, "--namespace=system"))
    (rule,) = roles["operator-ragbase-operator-uninstall:system"]["rules"]
    assert rule["apiGroups"] == [GROUP]
    assert rule["verbs"] == ["delete", "list"]


@pytest.fixture(scope="module")
def users(server: ControlPlane, helm: Helm) -> Iterator[tuple[str, str]]:
    """Two namespaces: in the first the user `plain` may view, in the second edit."""
    for each in helm.template("operator", CHART, "--namespace=system"):
        if each["kind"] == "CustomResourceDefinition" or (
            each["kind"] == "ClusterRole" and "rbac.authorization.k8s.io" in str(each["metadata"])
        ):
            assert apply(server, each).status in (200, 201)
    names = []
    for role in ("view", "edit"):
        names.append(server.create_namespace())
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": role, "namespace": names[-1]},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": role,
            },
            "subjects": [{"kind": "User", "name": "plain"}],
        }
        assert apply(server, binding).status == 201
    _wait(lambda: server.request("GET", RAGBASES.format(names[1]), user="plain").status == 200)
    yield names[0], names[1]
    for name in names:
        server.delete_namespace(name)


def test_viewers_see_and_editors_change_custom_resources(
    server: ControlPlane, users: tuple[str, str]
) -> None:
    """The control plane itself aggregates the chart's roles into `view` and `edit`."""
    body = {"apiVersion": "ragbase.dev/v1alpha1", "kind": "RagBase", "metadata": {"name": "docs"}}
    seeing, changing = (RAGBASES.format(name) for name in users)
    _wait(lambda: server.request("GET", seeing, user="plain").status == 200)
    assert server.request("POST", seeing, body, user="plain").status == 403
    assert server.request("POST", changing, body, user="plain").status == 201
    scale = f"{changing}/docs/scale"
    wanted = {"spec": {"replicas": 3}}
    merge = "application/merge-patch+json"
    answer = server.request("PATCH", scale, wanted, user="plain", content_type=merge)
    assert answer.status == 200, answer.body
    status = f"{changing}/docs/status"
    answer = server.request("PATCH", status, {}, user="plain", content_type=merge)
    assert answer.status == 403
    assert server.request("DELETE", f"{changing}/docs", user="plain").status == 200


def _wait(what: Any, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)
