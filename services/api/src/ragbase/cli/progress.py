"""How far a backup or a restore is: a line that changes on a terminal, a line a stage elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragbase.cli.console import size, stderr

if TYPE_CHECKING:
    from ragbase.services.backup.place import Progress, Report

__all__ = ["shown"]


@contextmanager
def shown() -> Iterator[Report]:
    """Shows progress on standard error while the block runs."""
    console = stderr()
    started = time.monotonic()
    stages: set[str] = set()
    with console.status("Connecting …", spinner="dots") as status:

        def report(progress: Progress) -> None:
            if console.is_terminal:
                status.update(f"[bold]{progress.stage}[/bold] {_detail(progress)}")
            elif progress.stage not in stages:
                stages.add(progress.stage)
                passed = time.monotonic() - started
                console.print(f"{progress.stage} … ({passed:.1f} s)", markup=False)

        yield report


def _detail(progress: Progress) -> str:
    from rich.markup import escape

    item = escape(progress.item)
    if progress.total is not None:
        return f"{progress.done}/{progress.total} [dim]{item}[/dim]"
    if progress.done:
        return f"{size(progress.done)} [dim]{item}[/dim]"
    return f"[dim]{item}[/dim]"
