"""``ragbase jobs``: the work that a running RagBase does later."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from math import ceil
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import EXIT_FAILED, exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, Url

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ragbase.models.jobs import Job
    from ragbase.sdk import Client

__all__ = ["jobs"]

jobs = typer.Typer(
    name="jobs", no_args_is_help=True, help="List, follow, cancel and retry queued work."
)
JobIdArgument = Annotated[
    int, typer.Argument(help="The job's id.", metavar="ID", min=1, show_default=False)
]
CALL_WAIT_S = 60
"""Longest that the server keeps one call waiting."""
OPTIONAL = ("stage", "document", "error")
STYLES = {"succeeded": "green", "failed": "red", "cancelled": "yellow", "running": "cyan"}


class State(StrEnum):
    """Where a job stands."""

    queued = "queued"
    running = "running"
    succeeded = "succeeded"
    failed = "failed"
    cancelled = "cancelled"


@jobs.command("list")
@exits
def list_jobs(
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    state: Annotated[
        State | None, typer.Option("--state", "-s", help="Only jobs that stand so.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Only jobs of this collection.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Rows to show.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Show jobs, newest first.

    [bold]Examples[/bold]

      ragbase jobs list --state failed
      ragbase jobs list --collection wiki -n 100 --json | jq '.[].error'
    """
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        found = client.jobs.list(
            state=None if state is None else state.value, collection=collection, limit=limit
        )
    _show(found, as_json=as_json)


@jobs.command("show")
@exits
def show_job(
    job_id: JobIdArgument,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    wait: Annotated[
        int,
        typer.Option(
            "--wait", "-w", min=0, help="Seconds to wait for its end; exit 1 if it failed."
        ),
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Show one job.

    [bold]Examples[/bold]

      ragbase jobs show 17
      ragbase jobs show 17 --wait 600 && echo stored
    """
    from ragbase.sdk import Client

    with Client(url, api_key, timeout=90) as client:
        found = _followed(client, job_id, wait)
    _show([found], as_json=as_json)
    if wait and found.state != "succeeded":
        raise typer.Exit(EXIT_FAILED)


@jobs.command("cancel")
@exits
def cancel_job(
    job_id: JobIdArgument, url: Url = DEFAULT_URL, api_key: ApiKey = None, as_json: AsJson = False
) -> None:
    """End a job that waits; one that runs ends soon, and stores nothing more."""
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        _show([client.jobs.cancel(job_id)], as_json=as_json)


@jobs.command("retry")
@exits
def retry_job(
    job_id: JobIdArgument, url: Url = DEFAULT_URL, api_key: ApiKey = None, as_json: AsJson = False
) -> None:
    """Queue a failed or cancelled job again, with all its attempts."""
    from ragbase.sdk import Client

    with Client(url, api_key) as client:
        _show([client.jobs.retry(job_id)], as_json=as_json)


def _followed(client: Client, job_id: int, wait: int) -> Job:
    """The job once it has ended, or after ``wait`` seconds; a call waits a minute at most."""
    ends = time.monotonic() + wait
    while True:
        left = max(0, ceil(ends - time.monotonic()))
        found = client.jobs.get(job_id, wait=min(left, CALL_WAIT_S))
        if found.ended or time.monotonic() >= ends:
            return found


def _show(found: Sequence[Job], *, as_json: bool) -> None:
    from ragbase.cli.console import print_json, stdout

    if as_json:
        print_json([job.model_dump(mode="json") for job in found])
    elif found:
        stdout().print(_table(found))
    else:
        stdout().print("No jobs.")


def _table(found: Sequence[Job]) -> Table:
    """A row a job; stage, document and error only where one of them has it."""
    from ragbase.cli.console import new_table

    rows = [_cells(job) for job in found]
    table = new_table()
    shown = [name for name in rows[0] if name not in OPTIONAL or any(row[name] for row in rows)]
    for name in shown:
        right, wraps = name in ("id", "tries", "document"), name in ("collection", "error")
        table.add_column(
            name, justify="right" if right else "left", no_wrap=not wraps, overflow="fold"
        )
    for row in rows:
        table.add_row(*(row[name] for name in shown))
    return table


def _cells(job: Job) -> dict[str, Text]:
    from rich.text import Text

    from ragbase.cli.console import printable

    error = "" if job.error is None else f"{job.error.code}: {job.error.message}"
    return {
        "id": Text(str(job.id)),
        "state": Text(job.state, style=STYLES.get(job.state, "")),
        "kind": Text(job.kind),
        "collection": Text(job.collection or ""),
        "stage": Text(_stage(job)),
        "tries": Text(str(job.attempts)),
        "document": Text("" if job.document_id is None else str(job.document_id)),
        "asked": Text(f"{job.created_at.astimezone():%Y-%m-%d %H:%M}"),
        "error": Text(printable(error)),
    }


def _stage(job: Job) -> str:
    done, total = job.progress.done, job.progress.total
    return (job.stage or "") + (f" {done}/{total}" if total else "")
