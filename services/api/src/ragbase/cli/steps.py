"""Steps of a start: a spinner while one runs, a line with its time when it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from ragbase.cli.console import stderr

__all__ = ["Steps"]


class Steps:
    """Prints to standard error; no spinner where that is no terminal."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or stderr()

    @contextmanager
    def step(self, doing: str, done: str) -> Iterator[None]:
        """Show ``doing`` until the block ends well, then ``done`` and the seconds it took."""
        with self.pending(doing) as finish:
            yield
            finish(done)

    @contextmanager
    def pending(self, doing: str) -> Iterator[Callable[[str], None]]:
        """As `step`, but the block says when it is done and what was."""
        started = time.monotonic()
        status = self.console.status(f"[bold]{doing}[/bold] …", spinner="dots")
        status.start()

        def finish(done: str) -> None:
            status.stop()
            line = Text("✓ ", style="green").append(done, style="default")
            self.console.print(line.append(f"  {time.monotonic() - started:.1f} s", style="dim"))

        try:
            yield finish
        finally:
            status.stop()
