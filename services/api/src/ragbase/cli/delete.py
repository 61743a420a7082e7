"""``ragbase delete``: documents out of a running RagBase."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import EXIT_FAILED, UsageError, exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, CollectionName, Url, json_object

if TYPE_CHECKING:
    from ragbase.models.batch import DeleteOut

__all__ = ["delete"]

TIMEOUT_S = 900.0
"""Removing a large part of a large index takes minutes."""


@exits
def delete(
    ids: Annotated[
        list[int] | None,
        typer.Argument(help="Ids of documents.", metavar="[ID]...", show_default=False),
    ] = None,
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: CollectionName = None,
    filter_: Annotated[
        str | None,
        typer.Option("--filter", "-f", help="Instead of ids: what to match.", metavar="JSON"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would go, and remove nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove documents by id, or those of a collection that match a filter; asks first.

    Removed documents are gone from every index at once. The exit code is 1 when ids are missing.

    [bold]Examples[/bold]

      ragbase delete 17 23
      ragbase delete --filter '{"year": {"lt": 2020}}' --dry-run
      ragbase delete --collection wiki --filter '{"@external_id": {"contains": "old/"}}' --yes
    """
    from ragbase.sdk import Client

    condition = json_object(filter_, "--filter")
    if bool(ids) == (condition is not None):
        raise UsageError("give ids, or --filter, one of both")
    with Client(url, api_key, timeout=TIMEOUT_S) as client:
        documents = client.documents
        if condition is None:
            remove = partial(documents.delete_many, ids or [], collection=collection)
        else:
            remove = partial(documents.delete_matching, condition, collection=collection)
        if not dry_run and not yes:
            _ask(remove(dry_run=True).deleted)
        done = remove(dry_run=dry_run)
    _show(done, as_json=as_json)
    if done.missing:
        raise typer.Exit(EXIT_FAILED)


def _ask(count: int) -> None:
    """Return when the documents may go; end the command otherwise."""
    if not count:
        return
    if not _is_person():
        raise UsageError(
            f"{count:,} documents would be removed, and nobody can be asked",
            "Repeat with --yes to remove them, or --dry-run to count only.",
        )
    if not typer.confirm(f"Remove {count:,} documents for good?", err=True):
        raise typer.Exit(EXIT_FAILED)


def _is_person() -> bool:
    return sys.stdin.isatty()


def _show(done: DeleteOut, *, as_json: bool) -> None:
    from ragbase.cli.console import print_json, stderr, stdout

    if as_json:
        print_json(done.model_dump(mode="json"))
        return
    said = "would be removed; nothing was (--dry-run)" if done.dry_run else "removed"
    stdout().print(f"[bold]{done.deleted:,} documents[/bold] {said}")
    if done.missing:
        listed = ", ".join(map(str, done.missing[:20]))
        more = f" and {len(done.missing) - 20:,} more" if len(done.missing) > 20 else ""
        stderr().print(f"[yellow]! not there: {listed}{more}[/yellow]", soft_wrap=True)
