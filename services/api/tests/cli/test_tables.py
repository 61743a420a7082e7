"""Tables of an evaluation."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from ragbase.cli.tables import _ablation_table


def mode(name: str, score: float) -> Any:
    scored = SimpleNamespace(measures=dict.fromkeys(("nDCG@10", "hit@1", "hit@5", "MRR"), score))
    split = SimpleNamespace(measures=scored.measures, families={"header-path": scored})
    return SimpleNamespace(name=name, splits={"all": split})


def test_what_headings_are_worth_is_told_of_the_modes_that_ran_without_them() -> None:
    """The graph is built of whole documents, so its modes have no figures without headings."""
    evaluation: Any = SimpleNamespace(
        modes=[mode("hybrid", 0.75), mode("graph", 0.5)], ablation={"hybrid": mode("hybrid", 0.25)}
    )
    console = Console(file=io.StringIO(), width=100)
    console.print(_ablation_table(evaluation, "all"))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "+0.500" in text
    assert "graph" not in text
