"""promtool: the rule files are sound, each alert fires when it should and says what it must."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from charts.monitoring.files import FOLDER, OPERATOR_RULES, STACK_RULES
from charts.monitoring.live.binaries import Binaries
from ragbase_operator.builders.rules import RUNBOOKS, scope_of, stack_groups

from .cases import CASES, QUIET, Case, Input, Quiet
from .test_runbooks import ALERTS

_DAY = 24 * 60
FILES = [FOLDER / STACK_RULES, FOLDER / OPERATOR_RULES]


def _promtool(binaries: Binaries, *arguments: str | Path) -> str:
    command = [str(binaries.promtool), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _test(
    binaries: Binaries, folder: Path, alert: str, minutes: int, series: Input, expected: list[Any]
) -> None:
    pace = "1h" if minutes > _DAY else "1m"
    test = {
        "rule_files": [str(path) for path in FILES],
        "evaluation_interval": pace,
        "tests": [
            {
                "interval": pace,
                "input_series": [{"series": k, "values": v} for k, v in series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{minutes}m", "alertname": alert, "exp_alerts": expected}
                ],
            }
        ],
    }
    path = folder / "test.yaml"
    path.write_text(yaml.safe_dump(test))
    _promtool(binaries, "test", "rules", path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_rule_files_are_sound(path: Path, binaries: Binaries) -> None:
    assert "SUCCESS" in _promtool(binaries, "check", "rules", path)


def test_the_rules_of_one_ragbase_are_sound(binaries: Binaries, tmp_path: Path) -> None:
    """As the operator applies them in a PrometheusRule."""
    path = tmp_path / "docs.yaml"
    path.write_text(yaml.safe_dump({"groups": stack_groups(scope_of("search", "docs"))}))
    assert "SUCCESS" in _promtool(binaries, "check", "rules", path)


def test_every_alert_has_a_case() -> None:
    assert {case.alert for case in CASES} == set(ALERTS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.alert}-{case.minutes}")
def test_it_fires(case: Case, binaries: Binaries, tmp_path: Path) -> None:
    severity = ALERTS[case.alert]["labels"]["severity"]
    expected = {
        "exp_labels": {**case.labels, "severity": severity},
        "exp_annotations": {
            "summary": case.summary,
            "description": case.description,
            "runbook_url": f"{RUNBOOKS}/{case.alert}.md",
        },
    }
    _test(binaries, tmp_path, case.alert, case.minutes, case.series, [expected])


@pytest.mark.parametrize("case", QUIET, ids=lambda case: f"{case.alert}: {case.why}")
def test_it_stays_quiet(case: Quiet, binaries: Binaries, tmp_path: Path) -> None:
    _test(binaries, tmp_path, case.alert, case.minutes, case.series, [])
