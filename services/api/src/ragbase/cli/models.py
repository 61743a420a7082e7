"""``ragbase models``: the GGUF files of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ragbase.cli.errors import CliError, exits
from ragbase.cli.options import AsJson

__all__ = ["models"]

models = typer.Typer(
    name="models", no_args_is_help=True, help="Fetch, list and remove models in GGUF files."
)
Folder = Annotated[
    Path | None,
    typer.Option(
        "--dir",
        help="Folder with chat, embedding and reranker; left out: LOCALRAG_MODELS_DIR, else models in RAGBASE_HOME.",
    ),
]


class Kind(StrEnum):
    """What a model is for."""

    chat = "chat"
    embedding = "embedding"
    reranker = "reranker"


OptionalKind = Annotated[
    Kind | None,
    typer.Option("--kind", "-k", help="What the model is for; left out: its file says."),
]


@models.command("pull")
@exits
def pull(
    source: Annotated[
        str,
        typer.Argument(
            help="owner/repository:file.gguf of a model hub (owner/repository@revision:file.gguf), or an https address.",
            metavar="SOURCE",
            show_default=False,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Option("--name", "-n", help="What to call it here; left out: as the file."),
    ] = None,
    kind: OptionalKind = None,
    sha256: Annotated[
        str | None,
        typer.Option(
            "--sha256", help="Sum that the file must have; left out: the hub's, if it tells one."
        ),
    ] = None,
    folder: Folder = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a model into the folder of its kind.

    A download that broke off is taken up where it was. The file is put in place once it is whole
    and its sum is right; one that is there already is not fetched again. HF_TOKEN is sent to the
    hub alone; HF_ENDPOINT names another hub.

    [bold]Examples[/bold]

      ragbase models pull bartowski/Llama-3.2-1B-Instruct-GGUF:Llama-3.2-1B-Instruct-Q4_K_M.gguf
      ragbase models pull https://models.example/bge.gguf --name bge-reranker-v2-m3-q8_0 --sha256 9c…
    """
    from ragbase.cli.console import print_json, size, stderr, stdout
    from ragbase.clients.inprocess_gguf_files import DEFAULT_HUB, pull_model

    with _download_bar(source) as progress:
        found = pull_model(
            _root(folder),
            source,
            name=name,
            kind=None if kind is None else kind.value,
            sha256=sha256,
            hub=os.environ.get("HF_ENDPOINT") or DEFAULT_HUB,
            hub_key=os.environ.get("HF_TOKEN", ""),
            progress=progress,
        )
    if not found.verified:
        stderr().print(
            "[yellow]![/yellow] No sum was known beforehand, so none was compared. "
            f"If you trust this file: --sha256 {found.sha256}"
        )
    if as_json:
        print_json(
            {
                "name": found.name,
                "kind": found.kind,
                "bytes": found.bytes,
                "sha256": found.sha256,
                "verified": found.verified,
                "fetched": found.fetched,
            }
        )
        return
    came = f"{size(found.fetched)} fetched" if found.fetched else "it was there already"
    stdout().print(f"{found.kind} model {found.name}: {size(found.bytes)}, {came}", markup=False)


@models.command("list")
@exits
def list_models(
    folder: Folder = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Read every byte and compare the sums; exit 1 if one differs."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show the files there are, and whether they can be used.

    [bold]Examples[/bold]

      ragbase models list
      ragbase models list --check
    """
    from dataclasses import asdict

    from rich.text import Text

    from ragbase.cli.console import new_table, print_json, printable, size, stdout
    from ragbase.clients.inprocess_gguf_files import stored

    root = _root(folder)
    rows = stored(root, check=check)
    if as_json:
        print_json([asdict(row) for row in rows])
    elif not rows:
        stdout().print(f"There are no models in {root}", markup=False)
    else:
        table = new_table()
        for column in ("kind", "name", "size", "architecture", "state"):
            table.add_column(
                column, justify="right" if column == "size" else "left", overflow="fold"
            )
        for row in rows:
            state = row.problem or row.check
            cells = (row.kind, row.name, size(row.bytes), row.architecture, state)
            table.add_row(*(Text(printable(cell)) for cell in cells))
        stdout().print(table)
    if changed := [row.name for row in rows if row.check == "changed"]:
        raise CliError(
            f"Not as they came: {', '.join(changed)}.",
            "Fetch them again with `ragbase models pull`.",
        )


@models.command("rm")
@exits
def remove(
    name: Annotated[str, typer.Argument(help="The model's name.", show_default=False)],
    kind: OptionalKind = None,
    folder: Folder = None,
) -> None:
    """Delete a model's file.

    A server that has it loaded keeps it until it is unloaded, and then does not find it any more.

    [bold]Examples[/bold]

      ragbase models rm Llama-3.2-1B-Instruct-Q4_K_M
      ragbase models rm mine --kind reranker
    """
    from ragbase.cli.console import stdout
    from ragbase.clients.inprocess_gguf_files import remove_model

    was = remove_model(_root(folder), name, None if kind is None else kind.value)
    stdout().print(f"Removed the {was} model {name}", markup=False)


def _root(folder: Path | None) -> Path:
    if folder is not None:
        return folder
    from ragbase.settings import Settings

    return Settings().models_dir


@contextmanager
def _download_bar(title: str) -> Iterator[Callable[[int, int | None], None]]:
    """Shows bytes and speed on standard error while the block runs; silent without a terminal."""
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    from ragbase.cli.console import printable, stderr

    console = stderr()
    bar = Progress(
        TextColumn("[bold]{task.description}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with bar:
        task = bar.add_task(escape(printable(title.rpartition("/")[2])), total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield report
