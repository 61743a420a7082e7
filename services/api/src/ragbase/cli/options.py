"""Options that several commands share."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from ragbase.cli.errors import UsageError

__all__ = ["DEFAULT_URL", "ApiKey", "AsJson", "CollectionName", "Home", "Url", "json_object"]

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


def _api_key(file: str | None) -> str | None:
    """The key in ``file``, else that of RAGBASE_API_KEY; a key as argument would show in `ps`."""
    if file is None:
        return os.environ.get("RAGBASE_API_KEY") or None
    try:
        key = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or "it is no text"
        raise typer.BadParameter(f"cannot read {file}: {reason}") from None
    if not key:
        raise typer.BadParameter(f"{file} is empty")
    return key


ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key-file",
        metavar="FILE",
        envvar="RAGBASE_API_KEY_FILE",
        callback=_api_key,
        help="File that holds the API key, where the server wants one; else RAGBASE_API_KEY.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]
CollectionName = Annotated[
    str | None,
    typer.Option("--collection", "-c", help="Collection to use; left out: `default`."),
]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="State folder of `ragbase up`; else RAGBASE_HOME, .ragbase."),
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
