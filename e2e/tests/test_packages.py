"""What must be installed, and what is said or done about it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from e2e.node import packages


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder that programs are looked for in."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(packages, "FOLDERS", ())
    return tmp_path


def program(folder: Path, name: str, text: str = "#!/bin/sh\n") -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


def test_packages_of_absent_programs_are_named_once(path: Path) -> None:
    program(path, "runc")
    wanted = {"containerd": "containerd", "ctr": "containerd", "runc": "runc"}
    assert packages.missing(wanted) == ["containerd"]
    assert packages.missing({str(path / "bridge"): "plugins"}) == ["plugins"]
    assert packages.missing({str(path / "runc"): "plugins"}) == []


def test_who_is_not_root_is_told_the_command(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path, "apt-get")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(packages.MissingPackagesError, match=r"run: sudo apt-get install .* runc"):
        packages.have({"runc": "runc"})


def test_root_installs_and_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(path, "apt-get", f'#!/bin/sh\necho "$@" >> {path}/asked\n')
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    packages.have({"runc": "runc"})
    assert (path / "asked").read_text().splitlines() == [
        "update -q",
        "install -y --no-install-recommends runc",
    ]
    assert "Installing runc" in capsys.readouterr().err


def test_a_failed_installation_tells_why(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path, "apt-get", "#!/bin/sh\necho no space left >&2\nexit 100\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(packages.MissingPackagesError, match="no space left"):
        packages.have({"runc": "runc"})


def test_nothing_is_done_where_all_is_there(path: Path) -> None:
    program(path, "runc")
    packages.have({"runc": "runc"})
