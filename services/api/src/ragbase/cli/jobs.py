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
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from ragbase.cli.console import print_json, printable, stdout

    if as_json:
        print_json([job.model_dump(mode="json") for job in found])
        return
    table = Table(box=SIMPLE_HEAD)
    for name in (
        "id",
        "state",
        "kind",
        "collection",
        "stage",
        "tries",
        "document",
        "asked",
        "error",
    ):
        table.add_column(name, justify="right" if name in ("id", "tries", "document") else "left")
    for job in found:
        error = "" if job.error is None else f"{job.error.code}: {job.error.message}"
        table.add_row(
            str(job.id),
            Text(job.state, style=STYLES.get(job.state, "")),
            job.kind,
            Text(job.collection or ""),
            _stage(job),
            str(job.attempts),
            "" if job.document_id is None else str(job.document_id),
            f"{job.created_at.astimezone():%Y-%m-%d %H:%M:%S}",
            Text(printable(error)),
        )
    stdout().print(table)


def _stage(job: Job) -> str:
    done, total = job.progress.done, job.progress.total
    return (job.stage or "") + (f" {done}/{total}" if total else "")
