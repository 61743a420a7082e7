"""`--summary FILE`: one line of JSON that fits into a container's termination message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.cli.summary import LIMIT, evaluation_summary, fitted, load_summary, write_summary

RUN = {
    "mode": "hybrid",
    "concurrency": 1,
    "qps": 123.456789,
    "failed": 0,
    "degraded": 0,
    "latency_ms": {"p50": 10.123456789, "p95": 20.5, "p99": 30.25, "max": 99.0},
}


def report(rows: int) -> dict[str, Any]:
    return {"dataset": "builtin", "runs": [{**RUN, "concurrency": n} for n in range(1, rows + 1)]}


def size(summary: dict[str, Any]) -> int:
    return len(json.dumps(summary, ensure_ascii=False, separators=(",", ":")).encode())


def test_what_fits_is_left_as_it_is() -> None:
    short = load_summary(report(3))
    assert fitted(short) == short
    assert short["runs"][0]["p50"] == 10.123456789


def test_too_many_rows_are_left_out_from_the_end_and_counted() -> None:
    long = load_summary(report(100))
    shown = fitted(long)
    assert size(shown) <= LIMIT
    assert shown["omitted"] + len(shown["runs"]) == 100
    assert [run["concurrency"] for run in shown["runs"]] == list(range(1, len(shown["runs"]) + 1))
    assert shown["runs"][0]["p50"] == 10.12
    assert size({**shown, "runs": load_summary(report(len(shown["runs"]) + 2))["runs"]}) > LIMIT


def test_rounding_comes_before_leaving_out() -> None:
    rows = next(n for n in range(1, 100) if size(load_summary(report(n))) > LIMIT)
    shown = fitted(load_summary(report(rows)))
    assert len(shown["runs"]) == rows
    assert "omitted" not in shown


def test_a_long_text_is_cut() -> None:
    shown = fitted({"path": "/backup/x", "note": "ü" * 5000})
    assert size(shown) <= LIMIT
    assert shown["path"] == "/backup/x"
    assert shown["note"].startswith("ü")


@given(
    st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.one_of(
            st.text(max_size=5000),
            st.floats(allow_nan=False),
            st.lists(
                st.dictionaries(st.sampled_from(["x", "y"]), st.text(max_size=60)), max_size=90
            ),
        ),
    )
)
def test_whatever_it_is_it_fits_and_keeps_its_names(summary: dict[str, Any]) -> None:
    shown = fitted(summary)
    assert size(shown) <= LIMIT
    assert shown.keys() - {"omitted"} == summary.keys()


def test_the_file_is_one_line_of_json(tmp_path: Path) -> None:
    file = tmp_path / "termination-log"
    write_summary(file, load_summary(report(100)))
    text = file.read_text(encoding="utf-8")
    assert "\n" not in text
    assert len(text.encode()) <= LIMIT
    assert json.loads(text)["dataset"] == "builtin"
    write_summary(None, {"nothing": "is written"})


def test_an_evaluation_tells_the_measures_of_each_mode() -> None:
    split = {"measures": {"nDCG@10": 0.5}, "queries": 40}
    mode = {"mode": "hybrid", "splits": {"all": split}, "failed": 1, "degraded": 0}
    assert evaluation_summary({"dataset": {"name": "builtin"}, "modes": [mode]}) == {
        "dataset": "builtin",
        "modes": [{"mode": "hybrid", **split, "failed": 1, "degraded": 0}],
    }


@pytest.mark.parametrize("missing", ["latency_ms", "mode"])
def test_a_report_without_its_parts_is_a_mistake(missing: str) -> None:
    broken = {name: value for name, value in RUN.items() if name != missing}
    with pytest.raises(KeyError):
        load_summary({"dataset": "builtin", "runs": [broken]})
