"""`ragbase ingest --context`, against the real API without a language model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from ragbase.sdk import Client


@pytest.mark.parametrize(
    ("flags", "of_the_collection", "wanted"),
    [
        ((), False, False),
        (("--context",), False, True),
        ((), True, True),
        (("--no-context",), True, False),
    ],
)
def test_context_lines_are_wanted_as_the_flag_says_else_the_collection(
    run_live: Callable[..., Result],
    client: Client,
    collection: str,
    tmp_path: Path,
    flags: tuple[str, ...],
    of_the_collection: bool,
    wanted: bool,
) -> None:
    """Texts and files alike; that no model is there to write them is told for each."""
    client.collections.put(collection, contextual_retrieval=of_the_collection)
    (tmp_path / "tides.txt").write_text("High water at noon.")
    line = {"_id": "rice", "title": "Rice", "text": "Rice grows in water."}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(line))
    result = run_live("ingest", str(tmp_path), "-c", collection, *flags, "--json")
    assert result.exit_code == 0, result.output
    tally = json.loads(result.stdout)
    assert tally["created"] == 2
    assert len(tally["warnings"]) == (2 if wanted else 0), tally["warnings"]
