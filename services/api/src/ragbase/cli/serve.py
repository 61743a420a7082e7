"""``ragbase serve``: the API, with everything taken from settings."""

from __future__ import annotations

from typing import Annotated

import typer

from ragbase.cli.errors import exits

__all__ = ["serve"]


@exits
def serve(
    host: Annotated[
        str | None, typer.Option("--host", help="Address to listen on; else RAGBASE_HOST.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", "-p", min=0, max=65535, help="Port; else RAGBASE_PORT (8000)."),
    ] = None,
) -> None:
    """Serve the API on the Postgres of DATABASE_URL.

    Beyond loopback callers need an API key: `ragbase keys create` makes the first one.
    This is what containers run; all else comes from settings too (`ragbase settings`). The schema
    is not touched: run `ragbase migrate` first.
    SIGTERM and Ctrl-C let requests under way finish.

    [bold]Examples[/bold]

      DATABASE_URL=postgresql://me@localhost/knowledge ragbase serve --port 5050
      DATABASE_URL_FILE=/run/secrets/database RAGBASE_LOG_FORMAT=json ragbase serve
    """
    from ragbase.cli.migrate import required_database
    from ragbase.settings import Settings
    from ragbase.telemetry.logs import configure_logging, get_logger

    given = {"host": host, "port": port}
    settings = Settings().model_copy(
        update={name: value for name, value in given.items() if value is not None}
    )
    required_database(settings)

    from ragbase.cli.ports import claim, url_of
    from ragbase.cli.server import run_api

    configure_logging(settings.log_level, settings.log_format)
    listener = claim(settings.host, settings.port)
    with listener:
        run_api(
            settings,
            listener,
            lambda: get_logger("ragbase").info("listening", url=url_of(listener)),
        )
