"""``ragbase backup`` and ``ragbase backups``: take backups, list and check them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragbase.cli.errors import EXIT_FAILED, UsageError, exits
from ragbase.cli.options import AsJson, Home
from ragbase.cli.summary import Summary, write_summary

if TYPE_CHECKING:
    from ragbase.services.backup.shelf import Entry, Shelf
    from ragbase.settings import Settings

__all__ = ["backup", "backups", "summary"]

Folder = Annotated[
    Path | None,
    typer.Argument(help="Folder of the backups; else RAGBASE_BACKUP_DIR.", show_default=False),
]


@exits
def backup(
    folder: Folder = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=1, help="Afterwards keep the newest N backups …"),
    ] = None,
    keep_days: Annotated[
        float | None,
        typer.Option(
            "--keep-days", min=0, help="… and those of the last N days; remove the others."
        ),
    ] = None,
    compression: Annotated[
        int, typer.Option("--compression", min=0, max=9, help="gzip level; 6 is small but slow.")
    ] = 1,
    home: Home = None,
    as_json: AsJson = False,
    summary_file: Summary = None,
) -> None:
    """Back up everything into a new sub-folder of FOLDER.

    One consistent state of the whole database, whatever is read and written meanwhile: documents,
    chunks, vectors, keyword index, collections, jobs and (hashed) API keys. Takes the database of
    DATABASE_URL, else the one of `ragbase up`, running or not. A backup is as confidential as the
    documents in it.

    [bold]Examples[/bold]

      ragbase backup /srv/backups
      ragbase backup /srv/backups --keep 7 --keep-days 30
      DATABASE_URL=postgresql://me@db/knowledge ragbase backup /backup --json
    """
    from ragbase.cli.async_run import run_until_signal
    from ragbase.cli.console import print_json, size, stdout
    from ragbase.cli.database import opened_place
    from ragbase.cli.progress import shown
    from ragbase.services.backup.create import back_up
    from ragbase.services.backup.shelf import Retention, Shelf
    from ragbase.settings import Settings

    settings = Settings()
    shelf = Shelf(chosen_folder(folder, settings, "backup"))
    with opened_place(settings, home, create=False) as place, shown() as report:
        made = run_until_signal(back_up(place, shelf, compression=compression, report=report))
    removed = shelf.retain(Retention(keep, keep_days), datetime.now(UTC))
    write_summary(summary_file, summary(made))
    if as_json:
        print_json({**summary(made), "removed": [path.name for path in removed]})
        return
    assert made.manifest is not None
    said = f"{size(made.manifest.bytes)}, {counted(made)}"
    stdout().print(
        f"[green]✓[/green] {made.path}  [dim]{said}, {made.manifest.seconds:.1f} s[/dim]",
        soft_wrap=True,
    )
    if removed:
        stdout().print(f"[dim]Removed {', '.join(path.name for path in removed)}[/dim]")


@exits
def backups(
    folder: Folder = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Read every file and compare it with its manifest.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the backups of FOLDER; with --verify, check them.

    Exit code 1 tells that at least one is damaged.

    [bold]Examples[/bold]

      ragbase backups /srv/backups
      ragbase backups /srv/backups --verify --json
    """
    import asyncio

    from ragbase.cli.console import print_json
    from ragbase.services.backup.shelf import Shelf
    from ragbase.settings import Settings

    shelf = Shelf(chosen_folder(folder, Settings(), "backups"))
    found = asyncio.run(shelf.verify()) if verify else shelf.entries()
    if as_json:
        print_json([summary(entry) for entry in found])
    else:
        _table(found, shelf, verified=verify)
    if any(entry.fault for entry in found):
        raise typer.Exit(EXIT_FAILED)


def chosen_folder(folder: Path | None, settings: Settings, command: str) -> Path:
    """The argument of ``command``, else RAGBASE_BACKUP_DIR."""
    chosen = folder or settings.backup_dir
    if chosen is None:
        raise UsageError(
            "no folder was given",
            f"Name one: `ragbase {command} FOLDER`, or set RAGBASE_BACKUP_DIR.",
        )
    return chosen


def summary(entry: Entry) -> dict[str, Any]:
    """What a program wants to know of a backup."""
    found: dict[str, Any] = {"path": str(entry.path), "ok": not entry.fault}
    if entry.fault:
        found["fault"] = entry.fault
    if entry.manifest is not None:
        manifest = entry.manifest
        found |= {
            "taken_at": manifest.taken_at.isoformat(),
            "seconds": manifest.seconds,
            "bytes": manifest.bytes,
            "version": manifest.version,
            "documents": manifest.rows("documents"),
            "chunks": manifest.rows("chunks"),
        }
    return found


def counted(entry: Entry) -> str:
    """Documents and chunks of a backup, in words."""
    assert entry.manifest is not None
    return (
        f"{entry.manifest.rows('documents'):,} documents, {entry.manifest.rows('chunks'):,} chunks"
    )


def _table(found: list[Entry], shelf: Shelf, *, verified: bool) -> None:
    from rich.text import Text

    from ragbase.cli.console import size, stdout

    if not found:
        stdout().print(f"No backups in {shelf.root}.", markup=False)
    for entry in found:
        mark = Text("✗ ", style="red") if entry.fault else Text("✓ ", style="green")
        line = mark.append(entry.path.name, style="bold")
        if entry.manifest is not None:
            line.append(f"  {size(entry.manifest.bytes)}, {counted(entry)}", style="default")
            line.append(f", RagBase {entry.manifest.version}", style="dim")
        if entry.fault:
            line.append(f"\n  → {entry.fault}", style="red")
        elif verified:
            line.append("  verified", style="green")
        stdout().print(line, soft_wrap=True)
