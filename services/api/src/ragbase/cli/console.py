"""Where output goes: data to standard output, everything else to standard error."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["print_json", "printable", "progress_bars", "stderr", "stdout", "write"]


_CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")


def printable(text: str) -> str:
    """``text`` with a blank for each control character, so that offsets hold.

    Documents come from anywhere, and an escape sequence in one could rewrite the terminal.
    """
    return text.translate(_CONTROLS)


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
