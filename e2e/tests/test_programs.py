"""Where the node's own programs come from, and the versions that are pinned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from e2e.cluster.version import KUBERNETES
from e2e.cluster.version import MODULE as CONTROL_PLANE
from e2e.node import programs

CLIENT = KUBERNETES.replace("v1.", "v0.")


def test_what_a_folder_lacks_is_named(tmp_path: Path) -> None:
    names = programs.lacking(tmp_path)
    assert {"kubelet", "kube-proxy", "kube-scheduler", "coredns", "pause", "etcd"} <= set(names)
    (tmp_path / "kubelet").touch()
    assert set(names) - set(programs.lacking(tmp_path)) == {"kubelet"}


def test_each_way_is_tried_and_its_failure_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Any] = []

    def failing(*arguments: object) -> None:
        tried.append(arguments[1])
        raise OSError("no way")

    monkeypatch.setattr(programs, "download", failing)
    monkeypatch.setattr(programs, "build", failing)
    assert programs.fill(tmp_path) == ["download: no way", "build: no way", "build: no way"]
    assert tried[0] == programs.PUBLISHED
    assert "k8s.io/kubernetes/cmd/kubelet" in tried[1].values()
    assert tried[2] == programs.OWN


def test_a_whole_folder_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "download", None)
    monkeypatch.setattr(programs, "build", None)
    for name in programs.lacking(tmp_path):
        (tmp_path / name).touch()
    assert programs.fill(tmp_path) == []


def test_dns_is_built_with_the_cluster_s_own_client() -> None:
    pinned = (programs.MODULE / "go.mod").read_text()
    assert f"k8s.io/client-go {CLIENT}" in pinned
    assert f"k8s.io/kubernetes {KUBERNETES}" in (CONTROL_PLANE / "go.mod").read_text()
    for folder in programs.OWN.values():
        assert (programs.MODULE / folder / "main.go").exists()
