"""``ragbase stats``: how much a running RagBase holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbase.cli.errors import exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, Url

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ragbase.models.stats import Counts, StatsOut

__all__ = ["stats"]

OPTIONAL = ("entities", "relations")
JOBS_SHOWN = ("queued", "running", "failed")
"""States that somebody may have to care about; `--json` has all."""


@exits
def stats(url: Url = DEFAULT_URL, api_key: ApiKey = None, as_json: AsJson = False) -> None:
    """Show documents, chunks and jobs of each collection that the key may read.

    [bold]Examples[/bold]

      ragbase stats
      ragbase stats --json | jq '.collections[] | {name, documents}'
    """
    from ragbase.cli.console import print_json, size, stdout
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.stats()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    stdout().print(_table(found))
    if found.storage_bytes is not None:
        stdout().print(f"[dim]{size(found.storage_bytes)} of tables and indexes[/dim]")


def _table(found: StatsOut) -> Table:
    """A row a collection; entities and relations only where there are any."""
    from ragbase.cli.console import new_table

    totals = _cells(found)
    shown = [name for name in totals if name not in OPTIONAL or totals[name].plain != "0"]
    table = new_table()
    table.show_footer = len(found.collections) > 1
    table.add_column("collection", footer="all", overflow="fold")
    for name in shown:
        table.add_column(name, footer=totals[name], justify="right", no_wrap=True)
    for row in found.collections:
        cells = _cells(row)
        table.add_row(row.name, *(cells[name] for name in shown))
    return table


def _cells(counts: Counts) -> dict[str, Text]:
    from rich.text import Text

    jobs = {str(state): count for state, count in counts.jobs.items()}
    numbers = {
        "documents": counts.documents,
        "chunks": counts.chunks,
        "entities": counts.entities,
        "relations": counts.relations,
        **{state: jobs.get(state, 0) for state in JOBS_SHOWN},
    }

    def style(name: str) -> str:
        return "red" if name == "failed" else "cyan" if name in JOBS_SHOWN else ""

    return {
        name: Text(f"{number:,}", style=style(name) if number else "dim")
        for name, number in numbers.items()
    }
