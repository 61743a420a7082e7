"""Memgraph: durable, bounded, and without an init container as root."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase_operator.builders.build import build
from ragbase_operator.builders.inputs import Inputs

from .conftest import Make
from .found import Found


def _flags(make: Make, inputs: Inputs, found: Found, **memgraph: Any) -> dict[str, str]:
    children = build(make({"graph": {"enabled": True, "memgraph": memgraph}}), inputs)
    args = found.container(found.one(children, "StatefulSet", "docs-memgraph"))["args"]
    return dict(arg.removeprefix("--").split("=", 1) for arg in args)


def test_every_transaction_is_flushed(make: Make, inputs: Inputs, found: Found) -> None:
    flags = _flags(make, inputs, found)
    assert flags["storage-wal-enabled"] == "true"
    assert flags["storage-wal-file-flush-every-n-tx"] == "1"
    assert int(flags["storage-snapshot-interval-sec"]) > 0


@pytest.mark.parametrize(("limit", "own"), [("2Gi", 1740), ("1500M", 1215), ("8Gi", 6963)])
def test_its_limit_is_below_the_containers(
    make: Make, inputs: Inputs, found: Found, limit: str, own: int
) -> None:
    """So that a query is refused where otherwise the pod would be killed."""
    flags = _flags(make, inputs, found, resources={"limits": {"memory": limit}})
    assert int(flags["memory-limit"]) == own


def test_its_data_folder_is_its_own(make: Make, inputs: Inputs, found: Found) -> None:
    """It ends where the folder is another user's, and the root of a volume is root's."""
    children = build(make({"graph": {"enabled": True}}), inputs)
    memgraph = found.one(children, "StatefulSet", "docs-memgraph")
    mounts = {m["name"]: m["mountPath"] for m in found.container(memgraph)["volumeMounts"]}
    folder = _flags(make, inputs, found)["data-directory"]
    assert folder.startswith(f"{mounts['data']}/")
    assert memgraph["spec"]["template"]["spec"]["securityContext"]["fsGroup"] == 103


def test_a_rotated_password_is_taken_at_the_start(make: Make, inputs: Inputs, found: Found) -> None:
    """B111: by a statement in a file of the Secret, which only its group may read."""
    children = build(make({"graph": {"enabled": True}}), inputs)
    memgraph = found.one(children, "StatefulSet", "docs-memgraph")
    volumes = {v["name"]: v for v in memgraph["spec"]["template"]["spec"]["volumes"]}
    assert volumes["init"]["secret"]["defaultMode"] == 0o440
    (item,) = volumes["init"]["secret"]["items"]
    assert item["key"] in found.secret(children, "docs-memgraph")
    mounts = {m["name"]: m["mountPath"] for m in found.container(memgraph)["volumeMounts"]}
    assert _flags(make, inputs, found)["init-file"] == f"{mounts['init']}/{item['path']}"


def test_a_graph_without_it_is_in_postgres(make: Make, inputs: Inputs, found: Found) -> None:
    """Extraction and searches go on; nobody is told of a Memgraph, and no key is made for one."""
    graph = {"enabled": True, "memgraph": {"enabled": False}}
    children = build(make({"graph": graph, "networkPolicy": {"enabled": True}}), inputs)
    assert "memgraph" not in found.text(children).lower()
    config = found.one(children, "ConfigMap", "docs-config")["data"]
    assert config["RAGBASE_EXTRACTION"] == "ner"


def test_none_without_a_graph(make: Make, inputs: Inputs, found: Found) -> None:
    children = build(make(), inputs)
    assert found.names(children, "StatefulSet") == ["docs-postgres"]
    assert "MEMGRAPH_URL" not in found.one(children, "ConfigMap", "docs-config")["data"]
