"""``ragbase migrate``: bring the schema of DATABASE_URL up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbase.cli.errors import UsageError, exits
from ragbase.cli.options import AsJson

if TYPE_CHECKING:
    from ragbase.settings import Settings

__all__ = ["migrate", "required_database"]


@exits
def migrate(as_json: AsJson = False) -> None:
    """Create or update the tables of DATABASE_URL.

    Safe to run at every start and from several places at once: one run works, the others wait
    and find nothing to do. A database of the original rag-base is adopted, its rows and ids kept.
    `ragbase up` does this by itself.

    [bold]Examples[/bold]

      DATABASE_URL=postgresql://me@localhost/knowledge ragbase migrate
      RAGBASE_LEXICAL=native ragbase migrate --json
    """
    from dataclasses import asdict

    from ragbase.cli.console import print_json, stdout
    from ragbase.cli.schema import describe, run_migration
    from ragbase.settings import Settings

    settings = Settings()
    report = run_migration(settings, required_database(settings))
    if as_json:
        print_json({**asdict(report), "changed": report.changed})
    else:
        stdout().print(f"[green]✓[/green] {describe(report)} [dim]{report.seconds:.1f} s[/dim]")


def required_database(settings: Settings) -> str:
    """DATABASE_URL, without which these commands cannot work."""
    dsn = settings.database_url.get_secret_value()
    if not dsn:
        raise UsageError(
            "DATABASE_URL is not set",
            "Set it to postgresql://user:password@host:port/database, "
            "or run `ragbase up`, which brings a Postgres of its own.",
        )
    return dsn
