"""``ragbase ingest``: files and folders into a running RagBase."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import EXIT_FAILED, CliError, UsageError, exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, CollectionName, Url

if TYPE_CHECKING:
    from rich.console import Console

    from ragbase.cli.files import Found
    from ragbase.sdk import AsyncClient
    from ragbase.sdk.upload import Failure, Tally

__all__ = ["ingest"]

LISTED_MAX = 20
"""Failures and warnings shown one by one; the rest is counted (`--json` has them all)."""
TIMEOUT_S = 900.0
"""A long document is embedded within its request."""
RETRIES = 120
"""A server that answers 429 is busy, not broken: an upload waits its turn."""


@exits
def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(
            help="Files or folders: text, Markdown, HTML, PDF, DOCX, CSV, or .jsonl corpora.",
            metavar="PATH...",
            show_default=False,
        ),
    ],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    create: Annotated[
        bool, typer.Option("--create", help="Make the collection where it does not exist yet.")
    ] = False,
    language: Annotated[
        str | None,
        typer.Option("--language", help="Language of a collection made by --create."),
    ] = None,
    glob: Annotated[
        list[str] | None,
        typer.Option("--glob", "-g", help="Take only files like this; may be repeated."),
    ] = None,
    context: Annotated[
        bool | None,
        typer.Option(
            "--context/--no-context",
            help="Have a language model write a line that places each chunk in its document, or "
            "not. Left out: as the collection says.",
            show_default=False,
        ),
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=64, help="Documents sent at the same time.")
    ] = 4,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be sent; needs no server.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Store files and folders; unchanged ones are not embedded again.

    Taken are .txt, .text, .rst, .md, .markdown, .mkd, .html, .htm, .xhtml, .pdf, .docx, .csv, .tsv
    and .jsonl; other text files where --glob or their own path names them. The server reads them
    and finds title and metadata: front matter, document properties, the first heading, else the
    file name. A document's id is its path below the folder given (or a line's `_id` in a .jsonl
    corpus). An ingest that was cut short is resumed by
    running it again: what is stored already answers "unchanged". Documents that fail are listed
    and the exit code is 1; the others are stored all the same.

    [bold]Examples[/bold]

      ragbase ingest docs/
      ragbase ingest handbook/ notes.txt --collection wiki --create --jobs 8
      ragbase ingest corpus.jsonl --collection papers --create --language german
      ragbase ingest reports/ --collection wiki --context
      ragbase ingest . --glob 'guides/**' --glob '*.rst' --dry-run
    """
    import asyncio

    from ragbase.cli.files import find

    warnings: list[tuple[str, str]] = []

    def warn(name: str, reason: str) -> None:
        warnings.append((name, reason))

    found = find(paths, glob or (), warn=warn)
    if not found:
        raise UsageError(
            "nothing to ingest: no text, Markdown, HTML, PDF, DOCX, CSV or .jsonl files below "
            + ", ".join(map(str, paths)),
            "Choose other files with --glob.",
        )
    if dry_run:
        _show_plan(found, warnings, as_json=as_json)
        return
    target = _Target(url, api_key, collection, language, create=create, context=context)
    started = time.monotonic()
    tally = asyncio.run(_send(found, target, jobs))
    seconds = time.monotonic() - started
    tally.warnings[:0] = _as_failures(warnings)
    _show_tally(tally, collection or "default", seconds, as_json=as_json)
    if tally.failures:
        raise typer.Exit(EXIT_FAILED)


@dataclass(frozen=True, slots=True)
class _Target:
    url: str
    api_key: str | None
    collection: str | None
    language: str | None
    create: bool
    context: bool | None


async def _send(found: list[Found], target: _Target, jobs: int) -> Tally:
    from ragbase.cli.console import progress_bars
    from ragbase.cli.files import sources
    from ragbase.sdk import AsyncClient, ConnectionFailedError
    from ragbase.sdk.upload import upload

    stored = 0

    def show(tally: Tally) -> None:
        nonlocal stored
        stored = tally.stored
        failed = f" [red]{len(tally.failures)} failed" if tally.failures else ""
        bars.update(bar, completed=tally.done, description=f"Ingesting{failed}")

    waiting = sources(found)
    async with AsyncClient(
        target.url, target.api_key, timeout=TIMEOUT_S, retries=RETRIES
    ) as client:
        if target.create and target.collection is not None:
            await _ensure_collection(client, target.collection, target.language)
        with progress_bars() as bars:
            bar = bars.add_task("Ingesting", total=len(waiting))
            try:
                return await upload(
                    client,
                    waiting,
                    collection=target.collection,
                    contextual_retrieval=target.context,
                    jobs=jobs,
                    on_done=show,
                )
            except ConnectionFailedError as error:
                raise CliError(
                    f"{error.message}; {stored:,} of {len(waiting):,} documents were stored",
                    "Start the stack (`ragbase up`) and repeat the command: it goes on from there.",
                ) from error


async def _ensure_collection(client: AsyncClient, name: str, language: str | None) -> None:
    """Make the collection; one that is there stays as it is."""
    from ragbase.sdk import ApiError, CollectionOptions

    options: CollectionOptions = {} if language is None else {"language": language}
    try:
        await client.collections.create(name, **options)
    except ApiError as error:
        if error.status != 409:
            raise


def _show_plan(found: list[Found], warnings: list[tuple[str, str]], *, as_json: bool) -> None:
    from ragbase.cli.console import print_json, size, stderr, stdout

    if as_json:
        rows = [{"external_id": item.external_id, "bytes": item.size} for item in found]
        print_json({"documents": rows, "warnings": [list(pair) for pair in warnings]})
        return
    console = stdout()
    for item in found:
        console.print(f"{size(item.size):>10}  {item.external_id}", markup=False)
    total = size(sum(item.size for item in found))
    console.print(f"[bold]{len(found):,} documents[/bold], {total}; nothing was sent (--dry-run)")
    _list(stderr(), "!", "yellow", _as_failures(warnings))


def _show_tally(tally: Tally, collection: str, seconds: float, *, as_json: bool) -> None:
    from ragbase.cli.console import print_json, stderr, stdout

    if as_json:
        print_json({"collection": collection, "seconds": round(seconds, 3), **asdict(tally)})
        return
    counts = [
        f"{count:,} {name}"
        for name, count in (
            ("new", tally.created),
            ("replaced", tally.replaced),
            ("unchanged", tally.unchanged),
            ("empty, skipped", tally.blank),
            ("failed", len(tally.failures)),
        )
        if count
    ]
    mark = "[red]✗[/red]" if tally.failures else "[green]✓[/green]"
    rate = tally.stored / seconds if seconds else 0.0
    stdout().print(
        f"{mark} [bold]{tally.stored:,} documents[/bold] in collection [cyan]{collection}[/cyan] "
        f"({tally.chunks:,} chunks): {', '.join(counts)} "
        f"[dim]· {seconds:.1f} s, {rate:.0f}/s[/dim]",
        soft_wrap=True,
    )
    _list(stderr(), "!", "yellow", tally.warnings)
    _list(stderr(), "✗", "red", tally.failures)


def _list(console: Console, mark: str, style: str, items: list[Failure]) -> None:
    from rich.text import Text

    from ragbase.cli.console import printable

    for item in items[:LISTED_MAX]:
        line = Text(f"  {mark} ", style=style).append(printable(item.name), style="bold")
        console.print(line.append(f"  {printable(item.reason)}", style="default"), soft_wrap=True)
    if len(items) > LISTED_MAX:
        console.print(f"  … and {len(items) - LISTED_MAX:,} more (--json lists all)", style="dim")


def _as_failures(pairs: list[tuple[str, str]]) -> list[Failure]:
    from ragbase.sdk.upload import Failure

    return [Failure(name, reason) for name, reason in pairs]
