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

JOBS_SHOWN = ("queued", "running", "failed")
"""States that somebody may have to care about; `--json` has all."""


@exits
def stats(url: Url = DEFAULT_URL, api_key: ApiKey = None, as_json: AsJson = False) -> None:
    """Show documents, chunks and jobs of each collection that the key may read.

    [bold]Examples[/bold]

      ragbase stats
      ragbase stats --json | jq '.collections[] | {name, documents}'
    """
    from ragbase.cli.console import print_json, stdout
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.stats()
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    stdout().print(_table(found))
    if found.storage_bytes is not None:
        stdout().print(f"[dim]{found.storage_bytes / 1e6:,.1f} MB of tables and indexes[/dim]")


def _table(found: StatsOut) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, header_style="dim", show_footer=len(found.collections) > 1)
    table.add_column("collection", footer="all", overflow="fold")
    cells = _cells(found)
    for name, total in zip(_columns(), cells, strict=True):
        table.add_column(name, footer=total, justify="right")
    for row in found.collections:
        table.add_row(row.name, *_cells(row))
    return table


def _columns() -> list[str]:
    return ["documents", "chunks", "entities", "relations", *JOBS_SHOWN]


def _cells(counts: Counts) -> list[Text]:
    from rich.text import Text

    numbers = [counts.documents, counts.chunks, counts.entities, counts.relations]
    jobs = {str(state): count for state, count in counts.jobs.items()}
    cells = [Text(f"{number:,}", style="" if number else "dim") for number in numbers]
    for state in JOBS_SHOWN:
        number = jobs.get(state, 0)
        style = "dim" if not number else "red" if state == "failed" else "cyan"
        cells.append(Text(f"{number:,}", style=style))
    return cells
