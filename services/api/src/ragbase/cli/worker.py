"""``ragbase worker``: jobs in a process of their own."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import exits

if TYPE_CHECKING:
    from ragbase.settings import Settings

__all__ = ["worker"]


@exits
def worker(
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", "-j", min=1, max=256, help="Jobs at once; else RAGBASE_WORKER_JOBS."
        ),
    ] = None,
) -> None:
    """Do queued jobs on the Postgres of DATABASE_URL, without an API.

    As many as you like may run, beside APIs with RAGBASE_WORKERS=0 or on their own machines. With
    RAGBASE_METRICS_PORT it serves /health/live and /metrics.
    SIGTERM and Ctrl-C let jobs under way finish for RAGBASE_WORKER_GRACE seconds; what is not done
    then goes back into the queue. One that is killed loses nothing: another takes its jobs after
    RAGBASE_JOB_LEASE seconds.

    [bold]Examples[/bold]

      DATABASE_URL=postgresql://me@localhost/knowledge ragbase worker --jobs 4
      RAGBASE_METRICS_PORT=9090 RAGBASE_LOG_FORMAT=json ragbase worker
    """
    import asyncio

    from ragbase.cli.migrate import required_database
    from ragbase.cli.server import loop_factory
    from ragbase.settings import Settings
    from ragbase.telemetry.logs import configure_logging

    settings = Settings()
    if jobs is not None:
        settings = settings.model_copy(update={"worker_jobs": jobs})
    required_database(settings)
    configure_logging(settings.log_level, settings.log_format)
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        try:
            runner.run(_work(settings))
        except asyncio.CancelledError:  # a signal during the start
            raise KeyboardInterrupt from None


async def _work(settings: Settings) -> None:
    """Until SIGINT or SIGTERM; a signal during the start ends the start."""
    import asyncio
    import signal

    from ragbase.factory import open_worker
    from ragbase.worker.health import health_server

    ended = asyncio.Event()
    starting = asyncio.current_task()
    started = False

    def stop() -> None:
        if started or starting is None:
            ended.set()
        else:
            starting.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    async with open_worker(settings) as worker:
        started = True
        health = (
            nullcontext()
            if settings.metrics_port is None
            else health_server(settings.host, settings.metrics_port, lambda: worker.silence_s)
        )
        with health:
            await ended.wait()
