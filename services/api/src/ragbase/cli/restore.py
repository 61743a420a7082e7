"""``ragbase restore``: a backup into an empty database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.backup import Folder
from ragbase.cli.errors import exits
from ragbase.cli.options import AsJson, Home
from ragbase.cli.summary import Summary, write_summary

if TYPE_CHECKING:
    from ragbase.services.backup.restore import Restored

__all__ = ["restore"]


@exits
def restore(
    folder: Folder = None,
    memory: Annotated[
        int,
        typer.Option(
            "--memory", min=1, help="MB for building indexes (maintenance_work_mem of the server)."
        ),
    ] = 512,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=0, help="Parallel workers for building indexes; they need /dev/shm."
        ),
    ] = 0,
    home: Home = None,
    as_json: AsJson = False,
    summary_file: Summary = None,
) -> None:
    """Restore a backup, or the newest one in FOLDER, into an empty database.

    The backup's files are checked first; then all of it is loaded in one transaction, compared
    with the manifest table by table, and brought to the schema of this version. Whatever fails leaves
    the database empty. One that holds anything is refused; the tables of a RagBase that nothing
    was ever stored in do not count. Stop the API and the workers first.

    [bold]Examples[/bold]

      ragbase restore /srv/backups --home /srv/new
      ragbase restore /srv/backups/20261130T020000Z
      DATABASE_URL=postgresql://me@db/empty ragbase restore /backup --memory 4000
    """
    from ragbase.cli.async_run import run_until_signal
    from ragbase.cli.backup import chosen_folder
    from ragbase.cli.console import print_json
    from ragbase.cli.database import opened_place
    from ragbase.cli.progress import shown
    from ragbase.cli.schema import migration
    from ragbase.services.backup.restore import restore as restore_backup
    from ragbase.services.backup.shelf import resolve
    from ragbase.settings import Settings

    settings = Settings()
    path = resolve(chosen_folder(folder, settings, "restore"))
    with opened_place(settings, home, create=True) as place, shown() as report:
        done = run_until_signal(
            restore_backup(
                place,
                path,
                migrate=lambda: migration(settings, place.dsn),
                memory_mb=memory,
                workers=workers,
                report=report,
            )
        )
    write_summary(summary_file, _as_json(done))
    if as_json:
        print_json(_as_json(done))
    else:
        _print(done)


def _as_json(done: Restored) -> dict[str, object]:
    return {
        "path": str(done.path),
        "taken_at": done.manifest.taken_at.isoformat(),
        "documents": done.manifest.rows("documents"),
        "chunks": done.manifest.rows("chunks"),
        "checksums_compared": done.verified,
        "migrated": done.migrated,
        "healed": list(done.healed),
        "seconds": done.seconds,
    }


def _print(done: Restored) -> None:
    from rich.text import Text

    from ragbase.cli.backup import counted
    from ragbase.cli.console import stdout
    from ragbase.services.backup.shelf import Entry

    line = Text("✓ ", style="green").append(
        f"Restored {done.path}: {counted(Entry(done.path, done.manifest))}", style="default"
    )
    stdout().print(line.append(f"  {done.seconds:.1f} s", style="dim"), soft_wrap=True)
    if not done.verified:
        stdout().print(
            "! Only rows were compared: this server's hash differs from the source's.",
            style="yellow",
        )
    if done.migrated:
        stdout().print("Schema brought up to date.", style="dim")
    for step in done.healed:
        stdout().print(f"Keyword index: {step}.", style="dim", markup=False)
