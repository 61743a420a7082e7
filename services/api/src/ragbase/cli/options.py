"""Options that several commands share."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ragbase.cli.errors import UsageError

__all__ = ["DEFAULT_URL", "ApiKey", "AsJson", "CollectionName", "Url", "json_object"]

DEFAULT_URL = "http://127.0.0.1:5050"
"""Where `ragbase up` listens; the client's own constant costs its imports (a test compares)."""

Url = Annotated[
    str,
    typer.Option(
        "--url",
        envvar="RAGBASE_API_URL",
        help="Where the API listens.",
        show_default=True,
    ),
]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key", envvar="RAGBASE_API_KEY", help="API key, where the server wants one."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]
CollectionName = Annotated[
    str | None,
    typer.Option("--collection", "-c", help="Collection to use; left out: `default`."),
]


def json_object(value: str | None, option: str) -> dict[str, Any] | None:
    """The JSON object given with ``option``; anything else is a `UsageError`."""
    if value is None:
        return None
    try:
        parsed = json.loads(value)
    except ValueError as error:
        raise UsageError(
            f"{option} is not JSON: {error}", "Quote it for the shell: " + option + " '{…}'"
        ) from None
    if not isinstance(parsed, dict):
        raise UsageError(f'{option} must be a JSON object, like \'{{"key": "value"}}\'')
    return parsed
