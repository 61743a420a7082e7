"""Every file of values: linted, rendered, and taken by a real API server without a word."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import ControlPlane
from e2e.helm import Helm

from .foreign import install_foreign
from .objects import CHARTS, apply, in_namespace, pods_of, values_files

FILES = pytest.mark.parametrize(
    "values", values_files(), ids=lambda path: f"{path.parents[1].name}-{path.stem}"
)
RESTRICTED = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "warn")}


def _rendered(helm: Helm, values: Path, namespace: str = "default") -> list[dict[str, Any]]:
    chart = values.parents[1]
    return helm.template("docs", chart, "--values", str(values), "--namespace", namespace)


@pytest.fixture(scope="module")
def prepared(server: ControlPlane) -> ControlPlane:
    """The API server with all kinds that a chart may render."""
    install_foreign(server)
    for path in sorted((CHARTS.parent / "crds").glob("*.yaml")):
        assert apply(server, yaml.safe_load(path.read_text())).status in (200, 201)
    kinds = ("ragbase.dev/v1alpha1", "ragbases"), ("monitoring.coreos.com/v1", "servicemonitors")
    deadline = time.monotonic() + 20
    while any(server.request("GET", f"/apis/{v}/{p}").status != 200 for v, p in kinds):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return server


@pytest.fixture(scope="module")
def restricted(prepared: ControlPlane) -> Iterator[str]:
    """A namespace that enforces restricted pods."""
    name = prepared.create_namespace(RESTRICTED)
    yield name
    prepared.delete_namespace(name)


@FILES
def test_lint_finds_nothing(helm: Helm, values: Path) -> None:
    chart = values.parents[1]
    assert "[WARNING]" not in helm.run("lint", "--strict", str(chart), "--values", str(values))


@FILES
def test_every_object_is_valid(
    prepared: ControlPlane, restricted: str, helm: Helm, values: Path
) -> None:
    """By server-side apply, with no unknown field and no warning."""
    refused = {}
    for each in _rendered(helm, values, restricted):
        answer = apply(prepared, in_namespace(each, restricted), "&dryRun=All")
        if answer.status not in (200, 201) or answer.warnings:
            name = f"{each['kind']} {each['metadata']['name']}"
            refused[name] = answer.body.get("message", answer.warnings)
    assert refused == {}


@FILES
def test_every_pod_is_admitted_as_restricted_and_refused_when_spoilt(
    prepared: ControlPlane, restricted: str, helm: Helm, values: Path
) -> None:
    for name, pod in pods_of(_rendered(helm, values, restricted)):
        pod = copy.deepcopy(pod)
        pod["spec"].pop("serviceAccountName", None)  # a dry run has made none
        assert _admitted(prepared, restricted, pod) == "", name
        del pod["spec"]["containers"][0]["securityContext"]["capabilities"]
        assert "restricted" in _admitted(prepared, restricted, pod), name


def _admitted(server: ControlPlane, namespace: str, pod: dict[str, Any]) -> str:
    """Why the API server refuses the pod, or warns of it; "" where it does neither."""
    metadata = {**pod["metadata"], "name": "tried", "namespace": namespace}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}
    path = f"/api/v1/namespaces/{namespace}/pods?dryRun=All&fieldValidation=Strict"
    answer = server.request("POST", path, body)
    if answer.status == 201:
        return "".join(answer.warnings)
    return str(answer.body["message"])


@FILES
def test_a_pod_says_all_that_the_restricted_standard_and_more_wants(
    helm: Helm, values: Path
) -> None:
    for name, pod in pods_of(_rendered(helm, values)):
        spec, (container,) = pod["spec"], pod["spec"]["containers"]
        assert spec["enableServiceLinks"] is False, name
        assert spec["securityContext"]["runAsUser"] == 10001, name
        assert container["securityContext"]["readOnlyRootFilesystem"] is True, name
        assert "memory" in container["resources"]["limits"], name
        assert "command" not in container, name


def test_all_values_files_are_found() -> None:
    charts = {path.parents[1].name for path in values_files()}
    assert charts == {path.parent.name for path in CHARTS.glob("*/Chart.yaml")}
