"""`make audit`: findings fail, silence is said and does not."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[4]
BIG, SMALL = Path("big.txt"), Path("small.txt")
FINE = {"name": "fine", "version": "1", "vulns": []}
BAD = {"name": "bad", "version": "2", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3"]}]}
UNKNOWN = {"name": "ours", "skip_reason": "not there"}


@pytest.fixture
def audit(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / ".ci"))
    return importlib.import_module("audit")


def run(audit: Any, answers: dict[tuple[Path, str], Any]) -> int:
    code: int = audit.audit(
        [BIG, SMALL], lambda lock, service: audit.Answer(*answers[lock, service])
    )
    return code


def test_no_service_is_said_and_passes(audit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {(BIG, "pypi"): ([UNKNOWN],), (BIG, "osv"): (None, "ConnectionError")}
    assert run(audit, answers) == 0
    said = capsys.readouterr().out
    assert "Audit skipped" in said
    assert "pypi: knows none of the packages; osv: ConnectionError" in said


def test_a_finding_in_any_lock_fails(audit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {(BIG, "pypi"): ([FINE, UNKNOWN],), (SMALL, "pypi"): ([BAD],)}
    assert run(audit, answers) == 1
    said = capsys.readouterr().out
    assert "small.txt: bad 2: PYSEC-1, fixed in 3" in said
    assert "big.txt: not known to pypi: ours" in said


def test_the_second_service_stands_in(audit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {
        (BIG, "pypi"): (None, "ConnectionError"),
        (BIG, "osv"): ([FINE],),
        (SMALL, "osv"): ([FINE],),
    }
    assert run(audit, answers) == 0
    assert "Audited by osv: no known vulnerability" in capsys.readouterr().out


def test_a_lock_left_out_is_no_pass(audit: Any, capsys: pytest.CaptureFixture[str]) -> None:
    answers = {(BIG, "pypi"): ([FINE],), (SMALL, "pypi"): (None, "it took too long")}
    assert run(audit, answers) == 1
    assert "small.txt: not audited (it took too long)" in capsys.readouterr().out


def test_an_error_is_told_without_its_text(audit: Any) -> None:
    trace = "Traceback\nrequests.exceptions.ConnectionError: host='index.example' unreachable\n"
    assert audit._why(trace) == "ConnectionError"
