"""``ragbase doctor``: can RagBase run here, and if not, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import EXIT_FAILED, exits
from ragbase.cli.options import AsJson, Home

if TYPE_CHECKING:
    from ragbase.cli.checks import Check

__all__ = ["doctor"]


@exits
def doctor(
    port: Annotated[
        int | None, typer.Option("--port", "-p", min=1, max=65535, help="Port to check.")
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine and its settings.

    Says what works, what does not, and what to do about it. Looks at Python, the state folder, disk space, Postgres (version, pgvector, pg_search, schema),
    the embedding model, the rerankers and the port. Changes nothing. Exit code 1 if something would keep RagBase
    from running.

    [bold]Examples[/bold]

      ragbase doctor
      DATABASE_URL=postgresql://me@localhost/knowledge ragbase doctor --json
    """
    from dataclasses import asdict

    from ragbase.cli.checks import run_checks
    from ragbase.cli.console import print_json, stdout
    from ragbase.settings import Settings

    checks = run_checks(Settings(), port=port, home=home)
    failed = [check for check in checks if check.state == "failed"]
    if as_json:
        print_json({"ok": not failed, "checks": [asdict(check) for check in checks]})
    else:
        for check in checks:
            stdout().print(_line(check), soft_wrap=True)
    if failed:
        raise typer.Exit(EXIT_FAILED)


def _line(check: Check) -> object:
    from rich.text import Text

    mark, style = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "failed": ("✗", "red")}[
        check.state
    ]
    line = Text.assemble((f"{mark} ", style), (f"{check.name:<14}", "bold"), check.found)
    if check.hint:
        line.append(f"\n{'':16}→ {check.hint}", style=style)
    return line
