"""The rules on paper; that they suffice and none is too many is shown on a real API server."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from e2e.cluster import ControlPlane
from ragbase_operator.builders.kinds import CHILD_KINDS, FOREIGN_KINDS
from ragbase_operator.rbac.rules import plural, rules


@pytest.mark.parametrize("namespaced", [True, False])
def test_no_wildcard_and_no_right_over_rights(namespaced: bool) -> None:
    for rule in rules(namespaced=namespaced):
        assert not any("*" in each for values in rule.values() for each in values), rule
        assert not {"bind", "escalate", "impersonate", "deletecollection"} & set(rule["verbs"])
        assert "rbac.authorization.k8s.io" not in rule["apiGroups"]


def test_each_kind_of_child_is_in_exactly_one_rule() -> None:
    named = [
        (group, resource)
        for rule in rules(namespaced=True)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
    ]
    assert len(named) == len(set(named))
    for kind in (*CHILD_KINDS, *FOREIGN_KINDS):
        assert (kind.api_version.rpartition("/")[0], plural(kind.kind)) in named


def test_resources_are_named_as_the_api_server_names_them(api_server: ControlPlane) -> None:
    for kind in CHILD_KINDS:
        root = "apis" if "/" in kind.api_version else "api"
        served = api_server.request("GET", f"/{root}/{kind.api_version}").body["resources"]
        assert plural(kind.kind) in {each["name"] for each in served if each["kind"] == kind.kind}


def test_only_a_cluster_role_sees_what_has_no_namespace() -> None:
    wide = [rule for rule in rules(namespaced=False) if rule not in rules(namespaced=True)]
    assert [rule["resources"] for rule in wide] == [["customresourcedefinitions"]]


@pytest.mark.parametrize("arguments", [[], ["--namespaced"]])
def test_the_command_prints_them(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "ragbase_operator.rbac", *arguments]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert yaml.safe_load(told) == rules(namespaced=bool(arguments))
