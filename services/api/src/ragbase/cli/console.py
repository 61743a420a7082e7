"""Where output goes: data to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

__all__ = [
    "new_table",
    "print_json",
    "printable",
    "progress_bars",
    "show_models",
    "size",
    "stderr",
    "stdout",
    "write",
]


_CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")


def printable(text: str) -> str:
    """``text`` with a blank for each control character, so that offsets hold.

    Documents come from anywhere, and an escape sequence in one could rewrite the terminal.
    """
    return text.translate(_CONTROLS)


def size(number: float) -> str:
    """Bytes as people read them: ``3.4 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} B" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def stdout() -> Console:
    """The console for data; made anew, so that it follows a replaced `sys.stdout`."""
    from rich.console import Console

    return Console(highlight=False)


def stderr() -> Console:
    """The console for progress, warnings and errors."""
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Indented JSON to standard output, never coloured or wrapped: it is for programs."""
    write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write(text: str) -> None:
    """Plain text to standard output."""
    sys.stdout.write(text)
    sys.stdout.flush()


def new_table(title: str | None = None) -> Table:
    """A table as all commands show them; narrow, for terminals of 80 columns."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="dim",
    )


def show_models(
    found: Sequence[BaseModel],
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    none: str,
    *,
    as_json: bool,
) -> None:
    """Answers as JSON, or ``rows`` under ``columns`` as a table, numbers to the right; ``none``
    is said where there are no rows."""
    from rich.text import Text

    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    if not rows:
        stdout().print(none)
        return
    table = new_table()
    for name, value in zip(columns, rows[0], strict=True):
        right = isinstance(value, int)
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(str(value))) for value in row))
    stdout().print(table)


def progress_bars() -> Progress:
    """Progress bars on standard error; silent where that is no terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = stderr()
    return Progress(
        TextColumn("[bold]{task.description}", justify="right"),
        BarColumn(bar_width=36),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("[dim]eta"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
