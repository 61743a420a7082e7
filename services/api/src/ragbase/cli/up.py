"""``ragbase up``: the whole stack from one command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragbase.cli.database import DATA_FOLDER
from ragbase.cli.errors import exits
from ragbase.cli.options import Home

if TYPE_CHECKING:
    from ragbase.cli.steps import Steps
    from ragbase.errors import ConfigurationError
    from ragbase.settings import Settings

__all__ = ["up"]

PORT = 5050


@exits
def up(
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            "-p",
            min=0,
            max=65535,
            help=f"Port; 0 for a free one. Else RAGBASE_PORT, {PORT}.",
        ),
    ] = None,
    home: Home = None,
) -> None:
    """Start everything: Postgres, schema, model and API.

    Brings a Postgres of its own, listens on http://127.0.0.1:5050 (the second API on 57352) and keeps its state in .ragbase/,
    so the next start finds your documents again. Ctrl-C stops it all. No container, no GPU, no network needed. With
    DATABASE_URL set, that Postgres is used (and migrated) instead of one of its own.

    [bold]Examples[/bold]

      ragbase up
      ragbase up --port 0 --home /srv/ragbase
      RAGBASE_LOG_LEVEL=warning ragbase up
    """
    from ragbase.cli.ports import claim, url_of
    from ragbase.cli.second import second_listener
    from ragbase.cli.server import run_api
    from ragbase.cli.steps import Steps
    from ragbase.settings import Settings
    from ragbase.telemetry.logs import configure_logging

    settings = _with_options(Settings(), port, home)
    # While spinners turn, only what matters is logged; from then on what the settings say.
    quiet = "warning" if settings.log_level == "info" else settings.log_level
    configure_logging(quiet, settings.log_format)
    steps = Steps()
    with (
        claim(settings.host, settings.port) as listener,
        second_listener(settings, steps) as localrag,
        _database(settings, steps) as dsn,
    ):
        settings = _with_schema(settings, dsn, steps)
        with steps.pending("Loading the model") as finish:

            def ready() -> None:
                finish(f"API listens, model loaded ({_model(settings)})")
                _greet(steps, url_of(listener), None if localrag is None else url_of(localrag))
                configure_logging(settings.log_level, settings.log_format)

            run_api(settings, listener, ready, localrag=localrag)
    steps.console.print("Stopped; your documents are kept.", style="dim")


def _with_options(settings: Settings, port: int | None, home: Path | None) -> Settings:
    """Options win over the environment; without either the port is `up`'s own."""
    update: dict[str, Any] = {}
    if port is not None or "port" not in settings.model_fields_set:
        update["port"] = PORT if port is None else port
    if home is not None:
        update["home"] = home
    return settings.model_copy(update=update)


@contextmanager
def _database(settings: Settings, steps: Steps) -> Iterator[str]:
    """The URL of a running Postgres: that of the settings, else our own under the state folder."""
    given = settings.database_url.get_secret_value()
    if given:
        steps.console.print("• Using the Postgres of DATABASE_URL", style="dim")
        yield given
        return
    from ragbase.embedded import EmbeddedPostgres, kept_running

    postgres = EmbeddedPostgres(settings.home / DATA_FOLDER)
    fresh = not postgres.data_dir.exists()
    doing = "Setting up Postgres" if fresh else "Starting Postgres"
    with steps.step(doing, f"Postgres runs, state in {settings.home}/"):
        postgres.start()

    def restarted() -> None:
        said = f"! Postgres ended by itself and was started again; see {postgres.log_file}"
        steps.console.print(said, style="yellow", markup=False, soft_wrap=True)

    def failed(error: ConfigurationError) -> None:
        said = f"✗ Postgres ended by itself; trying to start it again. {error}"
        steps.console.print(said, style="red", markup=False, soft_wrap=True)

    try:
        with kept_running(postgres, on_restart=restarted, on_failure=failed):
            yield postgres.dsn
    finally:
        with steps.step("Stopping Postgres", "Postgres stopped"):
            postgres.stop()


def _with_schema(settings: Settings, dsn: str, steps: Steps) -> Settings:
    """Migrate, then the settings for an API on this database."""
    from pydantic import SecretStr

    from ragbase.cli.schema import describe, run_migration

    with steps.pending("Checking the schema") as finish:
        finish(describe(run_migration(settings, dsn)))
    return settings.model_copy(update={"database_url": SecretStr(dsn)})


def _model(settings: Settings) -> str:
    from ragbase.settings import MINILM

    name = settings.embedding_model or (MINILM if settings.engine == "onnx" else "")
    return name.rpartition("/")[2] or settings.embedding_url


def _greet(steps: Steps, url: str, localrag: str | None) -> None:
    from rich.panel import Panel
    from rich.text import Text

    elsewhere = "" if url.endswith(f":{PORT}") else f"export RAGBASE_API_URL={url}\n"
    lines = Text.assemble(
        ("RagBase runs at ", "bold"),
        (url, "bold cyan underline"),
        (f"   API: {url}/docs\n", "dim"),
        ("Second API at   " if localrag else "", "bold"),
        (f"{localrag}\n" if localrag else "", "cyan"),
        "\n",
        ("Say where         " if elsewhere else "", "dim"),
        elsewhere,
        ("Store documents   ", "dim"),
        "ragbase ingest docs/\n",
        ("Ask               ", "dim"),
        'ragbase search "your question"\n',
        ("Measure           ", "dim"),
        "ragbase eval builtin\n",
        ("Stop              ", "dim"),
        "Ctrl-C",
    )
    steps.console.print(Panel(lines, border_style="green", expand=False, padding=(1, 2)))
