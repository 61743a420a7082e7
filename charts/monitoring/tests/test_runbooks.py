"""Every alert says what is wrong, how bad it is, and where its page is; every page has an alert."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ragbase_operator.builders.rules import EVERYWHERE, RUNBOOKS, operator_groups, stack_groups

ALERTS: dict[str, dict[str, Any]] = {
    rule["alert"]: rule
    for group in (*stack_groups(EVERYWHERE), *operator_groups())
    for rule in group["rules"]
    if "alert" in rule
}
HEADINGS = ["## Meaning", "## Impact", "## Diagnosis", "## Mitigation"]


@pytest.fixture
def folder(root: Path) -> Path:
    return root / "docs" / "runbooks"


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_all_that_a_person_needs(name: str) -> None:
    rule = ALERTS[name]
    assert rule["labels"]["severity"] in {"critical", "warning", "info"}
    assert re.fullmatch(r"\d+[mh]", rule["for"])
    notes = rule["annotations"]
    assert notes["runbook_url"] == f"{RUNBOOKS}/{name}.md"
    assert len(notes["summary"]) < 100
    assert notes["summary"].endswith(".")
    assert notes["description"].endswith(".")


@pytest.mark.parametrize("name", ALERTS)
def test_an_alert_has_a_runbook(name: str, folder: Path) -> None:
    text = (folder / f"{name}.md").read_text()
    assert text.startswith(f"# {name}\n")
    assert [line for line in text.splitlines() if line.startswith("## ")] == HEADINGS
    for heading, after in zip(HEADINGS, [*HEADINGS[1:], None], strict=True):
        part = text.split(heading)[1].split(after or "\0")[0]
        assert len(part.strip()) > 60, f"{name}: {heading} says little"


def test_no_runbook_is_left_over(folder: Path) -> None:
    assert {path.stem for path in folder.glob("*.md")} - {"README"} == set(ALERTS)
    listed = re.findall(r"\[(\w+)\]\(\1\.md\)", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(ALERTS)
