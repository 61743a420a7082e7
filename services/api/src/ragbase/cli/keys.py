"""``ragbase keys``: API keys, made and ended straight in the database."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ragbase.cli.errors import UsageError, exits
from ragbase.cli.options import AsJson, Home

if TYPE_CHECKING:
    from ragbase.models.keys import KeyCreated, KeyOut
    from ragbase.services.keys import KeyService

__all__ = ["keys"]

T = TypeVar("T")

keys = typer.Typer(
    name="keys", no_args_is_help=True, help="Make, list and revoke API keys; needs no server."
)
LISTED_MAX = 100
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class ScopeName(StrEnum):
    """What a key may do; admin may do all."""

    read = "read"
    write = "write"
    admin = "admin"


@keys.command("create")
@exits
def create(
    name: Annotated[
        str, typer.Option("--name", "-n", help="Who uses it, where.", show_default=False)
    ],
    scope: Annotated[
        list[ScopeName] | None, typer.Option("--scope", "-s", help="May be repeated; else read.")
    ] = None,
    collection: Annotated[
        list[str] | None,
        typer.Option("--collection", "-c", help="Only these exist for it; may be repeated."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", "-e", help="30m, 12h, 90d, 4w, or a date; else never."),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Make an API key and print it: once, because only its hash is stored.

    Works on DATABASE_URL (or the Postgres of `ragbase up`), so it can make the first key of a
    server. Keys given by settings (RAGBASE_ADMIN_KEY and others) come from `ragbase keys generate`.

    [bold]Examples[/bold]

      ragbase keys create --name ops --scope admin
      ragbase keys create -n wiki-bot -s read -s write -c wiki --expires 90d
      RAGBASE_API_KEY=$(ragbase keys create -n me) ragbase search tides
    """
    from ragbase.cli.console import print_json, stderr, write
    from ragbase.models.keys import KeyIn

    wanted = _checked(
        KeyIn,
        {
            "name": name,
            "scopes": [each.value for each in scope or [ScopeName.read]],
            "collections": collection or None,
            "expires_at": None if expires is None else _end(expires, datetime.now(UTC)),
        },
    )
    made = _run(home, lambda service: service.create(wanted))
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    stderr().print(_summary(made))
    write(made.key + "\n")


@keys.command("list")
@exits
def list_keys(home: Home = None, as_json: AsJson = False) -> None:
    """Show keys, newest first, without their secrets.

    [bold]Examples[/bold]

      ragbase keys list
      ragbase keys list --json | jq -r '.[] | select(.last_used_at == null) | .id'
    """
    from ragbase.cli.console import print_json

    found = _run(home, _all_keys)
    if as_json:
        print_json([key.model_dump(mode="json") for key in found])
    else:
        _table(found)


@keys.command("revoke")
@exits
def revoke(
    key_id: Annotated[
        str, typer.Argument(help="The middle part of the key.", metavar="ID", show_default=False)
    ],
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """End a key for good: running servers refuse it within five seconds.

    [bold]Examples[/bold]

      ragbase keys revoke k3v9x0q2m1ab
      ragbase keys list --json | jq -r '.[0].id' | xargs ragbase keys revoke
    """
    from ragbase.cli.console import print_json, stdout

    ended = _run(home, lambda service: service.revoke(key_id))
    if as_json:
        print_json(ended.model_dump(mode="json"))
    else:
        stdout().print(f"[green]✓[/green] Key {ended.id} has ended")


@keys.command("generate")
@exits
def generate() -> None:
    """Print a key that is stored nowhere, for RAGBASE_ADMIN_KEY, _PROBE_KEY or _CLIENT_KEY.

    [bold]Examples[/bold]

      ragbase keys generate > admin.key && RAGBASE_ADMIN_KEY_FILE=admin.key ragbase serve
      kubectl create secret generic rag-api-key --from-literal=admin=$(ragbase keys generate)
    """
    from ragbase.cli.console import write
    from ragbase.services.keys_format import new_key

    write(new_key().text + "\n")


def _checked(model: type[T], values: dict[str, object]) -> T:
    from pydantic import ValidationError

    try:
        return model(**values)
    except ValidationError as error:
        fault = error.errors()[0]
        option = {"collections": "--collection", "expires_at": "--expires"}.get(
            str(fault["loc"][0]), f"--{fault['loc'][0]}"
        )
        raise UsageError(f"{option}: {fault['msg']}") from None


def _end(text: str, now: datetime) -> datetime:
    """When a key ends that lives for ``90d`` or until a date (UTC where it names no zone)."""
    number, unit = text[:-1], text[-1:]
    if unit in _UNITS and number.isascii() and number.isdigit() and len(number) < 6:
        return now + timedelta(**{_UNITS[unit]: int(number)})
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"--expires {text} is no time", "Give 30m, 12h, 90d, 4w, or a date like 2030-12-31."
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _run(home: Path | None, work: Callable[[KeyService], Awaitable[T]]) -> T:
    """Do it with the keys of the database that settings and ``home`` name."""
    import asyncio

    from ragbase.cli.database import opened_place
    from ragbase.settings import Settings

    async def with_service(url: str) -> T:
        async with _service(url) as service:
            return await work(service)

    with opened_place(Settings(), home, create=False) as place:
        return asyncio.run(with_service(place.dsn))


@asynccontextmanager
async def _service(url: str) -> AsyncIterator[KeyService]:
    from ragbase.errors import ConfigurationError
    from ragbase.services.keys import KeyService
    from ragbase.storage.migrations import check_schema
    from ragbase.storage.pool import Database

    async with await Database.open(url, min_size=1, max_size=1, start_timeout_s=0) as database:
        async with database.read() as connection:
            schema = await check_schema(connection)
        if schema.status != "current":
            raise ConfigurationError(
                f"The database schema is {schema.status}. Run `ragbase migrate`, then try again."
            )
        yield KeyService(database)


async def _all_keys(service: KeyService) -> list[KeyOut]:
    found: list[KeyOut] = []
    while True:
        page, total = await service.page(offset=len(found), limit=LISTED_MAX)
        found += page
        if not page or len(found) >= total:
            return found


def _summary(made: KeyCreated) -> object:
    from rich.text import Text

    from ragbase.cli.console import printable

    bound = "all collections" if made.collections is None else ", ".join(made.collections)
    ends = "never" if made.expires_at is None else f"{made.expires_at:%Y-%m-%d %H:%M} UTC"
    return Text.assemble(
        ("✓ ", "green"),
        ("Key ", "default"),
        (made.id, "bold"),
        f" for {printable(made.name)}: {', '.join(made.scopes)} on {bound}, ends {ends}.\n",
        ("  It is shown only now. Hand it on as RAGBASE_API_KEY.", "dim"),
    )


def _table(found: Sequence[KeyOut]) -> None:
    from rich.text import Text

    from ragbase.cli.console import new_table, printable, stdout

    table = new_table()
    for column in ("id", "name", "scopes", "collections", "made", "used", "state"):
        table.add_column(column)
    for key in found:
        state, style = _state(key)
        table.add_row(
            Text(key.id, style="cyan"),
            Text(printable(key.name)),
            ", ".join(key.scopes),
            "all" if key.collections is None else Text(", ".join(key.collections)),
            _day(key.created_at),
            _day(key.last_used_at),
            Text(state, style=style),
        )
    stdout().print(table)


def _state(key: KeyOut) -> tuple[str, str]:
    if key.revoked_at is not None:
        return f"revoked {_day(key.revoked_at)}", "red"
    if key.expires_at is not None and key.expires_at <= datetime.now(UTC):
        return f"expired {_day(key.expires_at)}", "red"
    return ("valid" if key.expires_at is None else f"until {_day(key.expires_at)}"), "green"


def _day(moment: datetime | None) -> str:
    return "–" if moment is None else f"{moment.astimezone():%Y-%m-%d}"
