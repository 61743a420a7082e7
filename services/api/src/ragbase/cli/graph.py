"""``ragbase graph``: the projection of the graph into Memgraph or Neo4j."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ragbase.cli.errors import EXIT_FAILED, UsageError, exits
from ragbase.cli.options import AsJson, Home

if TYPE_CHECKING:
    from ragbase.graph.bolt_write import BoltWriter
    from ragbase.models.jobs import Job
    from ragbase.services.projection_check import Drift
    from ragbase.services.projection_status import ProjectionStatus
    from ragbase.settings import Settings
    from ragbase.storage.pool import Database

__all__ = ["graph"]

T = TypeVar("T")

graph = typer.Typer(
    name="graph",
    no_args_is_help=True,
    help="Ask the graph; check and rebuild its projection into Memgraph (MEMGRAPH_URL).",
)
_LOOK_S = 0.5


@graph.command("status")
@exits
def status(home: Home = None, as_json: AsJson = False) -> None:
    """Show where the projection stands: complete or not, notes that wait, counts of both sides.

    Exit code 1 tells that it cannot be read from now.

    [bold]Examples[/bold]

      ragbase graph status
      ragbase graph status --json | jq .waiting
    """
    from ragbase.cli.console import print_json
    from ragbase.services.projection_status import read_status

    async def read(database: Database, writer: BoltWriter) -> ProjectionStatus:
        async with database.read() as connection:
            return await read_status(connection, writer)

    found = _run(home, read)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _show_status(found)
    if not found.complete:
        raise typer.Exit(EXIT_FAILED)


@graph.command("check")
@exits
def check(home: Home = None, as_json: AsJson = False) -> None:
    """Compare the projection with the graph, row by row.

    Exit code 1 tells that they differ. Things that notes still wait for may differ: `waiting` says
    how many notes there are. `ragbase graph rebuild` mends what differs.

    [bold]Examples[/bold]

      ragbase graph check
      ragbase graph check --json | jq '.differences[]'
    """
    from ragbase.cli.console import print_json
    from ragbase.services.projection_check import find_drift

    async def compare(database: Database, writer: BoltWriter) -> Drift:
        async with database.read() as connection:
            return await find_drift(connection, writer)

    drift = _run(home, compare)
    if as_json:
        shown = [one._asdict() for one in drift.shown]
        counts = {"compared": drift.compared, "differing": drift.count, "foreign": drift.foreign}
        print_json({**counts, "waiting": drift.waiting, "differences": shown})
    else:
        _show_drift(drift)
    if not drift.equal:
        raise typer.Exit(EXIT_FAILED)


@graph.command("rebuild")
@exits
def rebuild(
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Return when it is done, or at once.")
    ] = True,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Have a worker look at everything again, and make the projection so.

    Nothing is removed beforehand: searches may read the projection meanwhile. It is a job of the
    kind `project`, done by a `ragbase worker` or `ragbase up` that has MEMGRAPH_URL.

    [bold]Examples[/bold]

      ragbase graph rebuild
      ragbase graph rebuild --no-wait --json | jq .id
    """
    from ragbase.cli.console import print_json, stdout

    async def submit(database: Database, _: BoltWriter) -> Job:
        return await _submit(database, wait=wait)

    job = _run(home, submit)
    if as_json:
        print_json(job.model_dump(mode="json"))
    else:
        looked_at = (job.result or {}).get("looked_at")
        more = f", {looked_at:,} things looked at" if looked_at is not None else ""
        stdout().print(f"Job {job.id}: {job.state}{more}", highlight=False)
    if job.ended and job.state != "succeeded":
        raise typer.Exit(EXIT_FAILED)


async def _submit(database: Database, *, wait: bool) -> Job:
    import asyncio

    from ragbase.cli.progress import shown
    from ragbase.services.backup.place import Progress
    from ragbase.services.jobs import JobService

    jobs = JobService(database)
    job = await jobs.submit("project", None, {})
    if not wait:
        return job
    with shown() as report:
        while not (job := await jobs.get(job.id)).ended:
            report(Progress("Projecting", "", job.progress.done, job.progress.total))
            await asyncio.sleep(_LOOK_S)
    return job


def _show_status(found: ProjectionStatus) -> None:
    from ragbase.cli.console import stdout

    mark = "[green]✓[/green] complete" if found.complete else "[red]✗[/red] not in use"
    stdout().print(f"{mark}, {found.waiting:,} notes wait", highlight=False)
    for name, stored in found.stored.items():
        projected = found.projected.get(name)
        said = "?" if projected is None else f"{projected:,}"
        label = name.replace("_", " ")
        stdout().print(f"  {label:<18} {said} of {stored:,}", highlight=False)
    if found.foreign:
        stdout().print(f"  {found.foreign:,} nodes are not RagBase's", highlight=False)
    if found.problem:
        stdout().print(f"[dim]{found.problem}[/dim]")


def _show_drift(drift: Drift) -> None:
    from ragbase.cli.console import stdout

    out = stdout()
    for one in drift.shown:
        key = " → ".join(str(part) for part in one.key if part != "")
        what = f"{one.what} ({', '.join(one.properties)})" if one.properties else one.what
        out.print(f"{one.kind} {key}: {what}", highlight=False, markup=False)
    if drift.count > len(drift.shown):
        out.print(f"… and {drift.count - len(drift.shown):,} more", highlight=False)
    mark = "[green]✓[/green]" if drift.equal else "[red]✗[/red]"
    said = f"{drift.compared:,} compared, {drift.count:,} differ, {drift.waiting:,} notes wait"
    out.print(f"{mark} {said}", highlight=False)


def _run(home: Path | None, work: Callable[[Database, BoltWriter], Awaitable[T]]) -> T:
    """Do it with the database that settings and ``home`` name, and the store of MEMGRAPH_URL."""
    from ragbase.cli.async_run import run_until_signal
    from ragbase.cli.database import opened_place
    from ragbase.settings import Settings

    settings = Settings()
    if not settings.projected:
        raise UsageError(
            "MEMGRAPH_URL is not set", "Set it to the address of the Memgraph: bolt://host:7687."
        )

    async def with_both(url: str) -> T:
        async with _opened(settings, url) as (database, writer):
            return await work(database, writer)

    with opened_place(settings, home, create=False) as place:
        return run_until_signal(with_both(place.dsn))


@asynccontextmanager
async def _opened(settings: Settings, url: str) -> AsyncIterator[tuple[Database, BoltWriter]]:
    from ragbase.factory_projection import open_bolt
    from ragbase.graph.bolt_write import BoltWriter
    from ragbase.storage.migrations import check_schema
    from ragbase.storage.migrations.awaited import require_current
    from ragbase.storage.pool import Database

    async with await Database.open(url, min_size=1, max_size=2, start_timeout_s=0) as database:
        async with database.read() as connection:
            require_current(await check_schema(connection))
        bolt = open_bolt(settings)
        try:
            yield database, BoltWriter(bolt)
        finally:
            await bolt.close()
