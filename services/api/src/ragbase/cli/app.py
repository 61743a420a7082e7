"""All commands under one name."""

from __future__ import annotations

from typing import Annotated

import typer

from ragbase import __version__
from ragbase.cli.backup import backup, backups
from ragbase.cli.bench import bench
from ragbase.cli.concepts import concepts
from ragbase.cli.delete import delete
from ragbase.cli.doctor import doctor
from ragbase.cli.evaluate import evaluate
from ragbase.cli.graph import graph
from ragbase.cli.graph_read import graph_read
from ragbase.cli.ingest import ingest
from ragbase.cli.jobs import jobs
from ragbase.cli.keys import keys
from ragbase.cli.localrag import localrag
from ragbase.cli.migrate import migrate
from ragbase.cli.models import models
from ragbase.cli.reference import reference
from ragbase.cli.restore import restore
from ragbase.cli.search import search
from ragbase.cli.serve import serve
from ragbase.cli.settings import settings
from ragbase.cli.stats import stats
from ragbase.cli.up import up
from ragbase.cli.worker import worker

__all__ = ["app", "main"]

RUN, USE, PROVE = "Run it", "Use it", "Prove it"

app = typer.Typer(
    name="ragbase",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_show_locals=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ragbase {__version__}")
        raise typer.Exit


@app.callback()
def ragbase(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Hybrid retrieval over Postgres: keywords and vectors, fused, behind one REST API.

    [bold]First steps[/bold]

      ragbase up                     start it all on http://127.0.0.1:5050
      ragbase ingest docs/           store a folder: .md .html .pdf .docx .csv …
      ragbase search "your question" ask
      ragbase eval builtin           measure keyword, semantic and hybrid

    Exit codes: 0 all went well, 1 something failed, 2 wrong arguments or settings.
    """


app.command(rich_help_panel=RUN)(up)
app.command(rich_help_panel=RUN)(serve)
app.command(rich_help_panel=RUN)(localrag)
app.add_typer(models, rich_help_panel=RUN)
app.command(rich_help_panel=RUN)(worker)
app.command(rich_help_panel=RUN)(migrate)
app.command(rich_help_panel=RUN)(backup)
app.command(rich_help_panel=RUN)(backups)
app.command(rich_help_panel=RUN)(restore)
app.add_typer(keys, rich_help_panel=RUN)
app.command(rich_help_panel=RUN)(doctor)
app.command(rich_help_panel=RUN)(settings)
app.command(rich_help_panel=RUN)(reference)
app.command(rich_help_panel=USE)(ingest)
app.command(rich_help_panel=USE)(search)
graph.add_typer(graph_read)
app.add_typer(graph, rich_help_panel=USE)
app.add_typer(concepts, rich_help_panel=USE)
app.command(rich_help_panel=USE)(delete)
app.command(rich_help_panel=USE)(stats)
app.add_typer(jobs, rich_help_panel=USE)
app.command(name="eval", rich_help_panel=PROVE)(evaluate)
app.command(rich_help_panel=PROVE)(bench)


def main() -> None:
    """The entry point of the command ``ragbase``."""
    app()
