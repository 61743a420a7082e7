"""The node from outside, with a holder that is played."""

from __future__ import annotations

import fcntl
import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.node import host


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of a node that is nobody's."""
    monkeypatch.setattr(host, "HOME", tmp_path)
    monkeypatch.setattr(host, "STATE", tmp_path / "state")
    for name, file in (("LOCK", "lock"), ("HOLDER", "holder.json")):
        monkeypatch.setattr(host, name, tmp_path / file)
    return tmp_path


def test_without_a_holder_there_is_no_node() -> None:
    assert host.status() is None
    assert host.stop() is False
    with pytest.raises(host.NodeError, match="no node is ready"):
        host.kubeconfig()


def test_a_held_lock_is_a_node_and_its_kubeconfig_makes_it_ready(home: Path) -> None:
    host.HOLDER.write_text(json.dumps({"holder": 4711, "first": 4712}))
    with host.LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert host.status() == 4711
        with pytest.raises(host.NodeError, match="no node is ready"):
            host.kubeconfig()
        (home / "state").mkdir()
        (home / "state" / "kubeconfig").touch()
        assert host.kubeconfig() == home / "state" / "kubeconfig"
        assert "--target=4712" in host.enter()
        with pytest.raises(host.NodeError, match="runs already"):
            host.hold()


def test_a_taken_port_is_said() -> None:
    with host.listening(0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(host.NodeError, match=f"port {port}: .*RAGBASE_NODE_PORT"):
            host.listening(port).__enter__()


def test_lines_are_followed_to_the_end_of_their_writer(tmp_path: Path) -> None:
    log = tmp_path / "progress"
    with log.open("wb") as out:
        script = "import time\nfor i in range(3): print(i, flush=True); time.sleep(0.05)"
        writer = subprocess.Popen([sys.executable, "-c", script], stdout=out)
    assert list(host.followed(log, writer)) == ["0", "1", "2"]
    assert writer.returncode == 0


def test_cgroups_are_removed_from_the_deepest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "memory" / "kubepods"
    (root / "burstable" / "pod1" / "container").mkdir(parents=True)
    (root / "besteffort").mkdir()
    monkeypatch.setattr(host, "CGROUPS", tmp_path)
    host.remove_cgroups()
    assert not root.exists()
    assert list((tmp_path / "memory").iterdir()) == []
