"""The script that checks a GPU, on a machine without one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

ROOT = Path(__file__).parents[3]


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Run it with the flags given, where torch sees no GPU; gives its exit code."""
    monkeypatch.syspath_prepend(ROOT)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda **_: None)
    from bench.gpu_check import main

    def run(*flags: str) -> Any:
        with pytest.raises(SystemExit) as ended:
            main(flags)
        return ended.value.code

    return run


def test_without_a_gpu_it_says_that_it_has_not_run(
    check: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert check() == 2
    assert "not run: torch" in capsys.readouterr().out
    assert check("--device", "cuda") == 2
    assert "there is no device cuda" in capsys.readouterr().out


def test_its_parts_hold_on_a_cpu_with_tiny_models(
    check: Callable[..., Any], tmp_path: Path
) -> None:
    assert check("--tiny", "--device", "cpu", "--out", str(tmp_path)) == 0
    report = json.loads((tmp_path / "gpu-check.json").read_text())
    assert report["passed"]
    steps = {row["step"] for row in report["rows"]}
    assert steps == {"write", "equality", "memory", "rerank", "together"}
    assert sum(row["met"] is True for row in report["rows"]) > 20
    assert "# GPU check" in (tmp_path / "gpu-check.md").read_text()


def test_what_there_is_no_time_for_is_not_passed(
    check: Callable[..., Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check("--tiny", "--device", "cpu", "--seconds", "0", "--out", str(tmp_path)) == 1
    assert "not run: too little time left" in capsys.readouterr().out
    assert not json.loads((tmp_path / "gpu-check.json").read_text())["passed"]
