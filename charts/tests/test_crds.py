"""The CRDs in the chart are those of the repository, and are upgraded with the release."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster import ControlPlane
from e2e.helm import Helm

from .objects import CHARTS, path_of

CHART = CHARTS / "ragbase-operator"
CRDS = {
    path.name: yaml.safe_load(path.read_text())
    for path in (CHARTS.parent / "crds").glob("ragbase.dev_*.yaml")
}
SERVED_S = 30.0
CLIENT_SIDE_LIMIT = 262_144
"""Bytes of all annotations: a client-side apply keeps the whole object in one."""


def _rendered(helm: Helm, *settings: str) -> dict[str, dict[str, Any]]:
    return {
        each["metadata"]["name"]: each
        for each in helm.template("docs", CHART, *settings)
        if each["kind"] == "CustomResourceDefinition"
    }


def test_they_are_rendered_as_they_are(helm: Helm) -> None:
    """Every number, too: a template must not turn it into another."""
    rendered = _rendered(helm)
    assert len(CRDS) == 4
    assert {name: crd["spec"] for name, crd in rendered.items()} == {
        crd["metadata"]["name"]: crd["spec"] for crd in CRDS.values()
    }


def test_they_are_kept_unless_that_is_switched_off(helm: Helm) -> None:
    policy = "helm.sh/resource-policy"
    kept = [crd["metadata"]["annotations"][policy] for crd in _rendered(helm).values()]
    assert kept == ["keep"] * 4
    for crd in _rendered(helm, "--set=crds.keep=false").values():
        assert "annotations" not in crd["metadata"]
    assert _rendered(helm, "--set=crds.enabled=false") == {}


@pytest.mark.parametrize("name", sorted(CRDS))
def test_they_fit_a_client_side_apply(name: str) -> None:
    """B117: the file is small enough for ``kubectl apply`` without ``--server-side``."""
    assert len(json.dumps(CRDS[name])) < 0.8 * CLIENT_SIDE_LIMIT


def test_an_upgrade_brings_the_new_fields(
    server: ControlPlane, client: Helm, namespace: str, tmp_path: Path
) -> None:
    """From a chart whose CRD lacks a field to this one, with an object that lives through it."""
    old = tmp_path / "ragbase-operator"
    shutil.copytree(CHART, old)
    path = old / "files" / "crds" / "ragbase.dev_ragbases.yaml"
    body = yaml.safe_load(path.read_text())
    schema = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    del schema["properties"]["paused"]
    schema.get("default", {}).pop("paused", None)
    path.write_text(yaml.safe_dump(body))
    off = ("--set=uninstall.enabled=false,rbac.aggregate=false", f"--namespace={namespace}")
    ragbase = {
        "apiVersion": "ragbase.dev/v1alpha1",
        "kind": "RagBase",
        "metadata": {"name": "kept", "namespace": namespace},
        "spec": {"paused": True},
    }
    collection = path_of(ragbase).rpartition("/")[0]

    client.run("install", "operator", str(old), *off, "--take-ownership")
    try:
        made = server.request("POST", f"{collection}?fieldValidation=Warn", ragbase)
        assert made.status == 201
        assert any("paused" in warning for warning in made.warnings)
        client.run("upgrade", "operator", str(CHART), *off)
        ragbase["metadata"] = {"name": "new", "namespace": namespace}
        deadline = time.monotonic() + SERVED_S
        while True:  # the API server serves a changed schema a moment after it has taken it
            made = server.request("POST", f"{collection}?fieldValidation=Strict", ragbase)
            if made.status == 201 or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        assert made.status == 201, made.body
        kept = server.request("GET", f"{collection}/kept")
        assert kept.status == 200
    finally:
        client.run("uninstall", "operator", "--no-hooks", "--namespace", namespace)
    name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ragbases.ragbase.dev"
    assert server.request("GET", name).status == 200
    assert server.request("GET", f"{collection}/kept").status == 200
