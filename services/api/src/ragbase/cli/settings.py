"""``ragbase settings``: every setting, with its default and its meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import UsageError, exits

if TYPE_CHECKING:
    from ragbase.cli.catalogue import Setting

__all__ = ["settings"]


@exits
def settings(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print a Markdown table.")] = False,
    env: Annotated[bool, typer.Option("--env", help="Print a commented .env.example.")] = False,
) -> None:
    """List all settings, with default and meaning.

    Settings are environment variables. Each may come as NAME_FILE instead, the path of a file
    that holds the value.

    [bold]Examples[/bold]

      ragbase settings
      ragbase settings --env > .env
      ragbase settings --json | jq -r '.[] | select(.secret) | .name'
    """
    from ragbase.cli import catalogue
    from ragbase.cli.console import print_json, write

    if as_json + markdown + env > 1:
        raise UsageError("choose one of --json, --markdown and --env")
    found = catalogue.catalogue()
    if as_json:
        print_json(catalogue.as_json(found))
    elif markdown:
        write(catalogue.as_markdown(found))
    elif env:
        write(catalogue.as_env(found))
    else:
        _table(found)


def _table(found: list[Setting]) -> None:
    from rich.text import Text

    from ragbase.cli.console import new_table, stdout

    table = new_table()
    table.add_column("Setting", style="cyan", no_wrap=True)
    table.add_column("Default", no_wrap=True, max_width=24, overflow="ellipsis")
    table.add_column("Meaning", overflow="fold")
    for setting in found:
        meaning = Text(setting.meaning)
        if setting.choices:
            meaning.append(f" ({' | '.join(setting.choices)})", style="dim")
        if setting.secret:
            meaning.append(" secret", style="yellow")
        table.add_row(setting.name, Text(setting.default or "–"), meaning)
    stdout().print(table)
