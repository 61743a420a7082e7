"""The commands of the program and their exit status."""

from __future__ import annotations

import pytest

from ragbase_operator import __version__
from ragbase_operator.cli import main


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out == f"{__version__}\n"


@pytest.mark.parametrize("command", ["run", "remove"])
def test_a_wrong_setting_ends_a_command_with_a_sentence(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAGBASE_OPERATOR_IMAGES", '{"postgres": "x"}')
    assert main([command]) == 2
    assert "unknown image" in capsys.readouterr().err


def test_check_of_nobody_fails_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "http://127.0.0.1:1/metrics", "--timeout", "0"]) == 1
    assert "does not answer" in capsys.readouterr().err


def test_remove_without_a_way_to_a_cluster_fails_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/none")
    assert main(["remove", "--timeout", "1"]) == 1
    assert "no way to the cluster" in capsys.readouterr().err
