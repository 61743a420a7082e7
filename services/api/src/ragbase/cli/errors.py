"""How a command ends: exit codes, and errors as one red line with a next step."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, ParamSpec, TypeVar

import typer

__all__ = ["EXIT_FAILED", "EXIT_USAGE", "CliError", "UsageError", "exits", "guarded"]

P = ParamSpec("P")
R = TypeVar("R")

EXIT_FAILED = 1
"""The command ran and something did not work out."""
EXIT_USAGE = 2
"""Arguments or settings are wrong; nothing was done."""
EXIT_INTERRUPTED = 130


class CliError(Exception):
    """A failure that a person should read: what is wrong, and what to do next."""

    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(CliError):
    """The arguments or settings cannot work."""

    exit_code = EXIT_USAGE


def exits(command: Callable[P, R]) -> Callable[P, R]:
    """Make a command end with a line and an exit code instead of a traceback."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with guarded():
            return command(*args, **kwargs)

    return wrapped


@contextmanager
def guarded() -> Iterator[None]:
    """Turn the errors that are expected into `typer.Exit`; others are bugs and keep theirs."""
    try:
        yield
    except CliError as error:
        _fail(error)
    except KeyboardInterrupt:
        _interrupted()
    except BrokenPipeError:
        _close_stdout()
        raise typer.Exit(0) from None
    except Exception as error:
        translated = _translate(error)
        if translated is None:
            raise
        _fail(translated)


def _translate(error: Exception) -> CliError | None:
    """What an error of the layers below means at a terminal; None for an unexpected one."""
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from ragbase.errors import ConfigurationError, InvalidInputError, RagBaseError
    from ragbase.sdk.errors import ApiError, ConnectionFailedError, TimedOutError

    if isinstance(error, ApiError):
        return CliError(str(error), _api_hint(error.status, error.code, error.request_id))
    if isinstance(error, TimedOutError):
        return CliError(error.message, "Try again, or look at the server's log.")
    if isinstance(error, ConnectionFailedError):
        return CliError(
            error.message, "Start the stack with `ragbase up`, or point --url at a running one."
        )
    if isinstance(error, (ConfigurationError, InvalidInputError)):
        return UsageError(*_said_and_hint(error.message))
    if isinstance(error, RagBaseError):
        return CliError(*_said_and_hint(error.message))
    if isinstance(error, ValidationError) and error.title == "Settings":
        return UsageError(_settings_message(error), "`ragbase settings` lists all settings.")
    if isinstance(error, SettingsError):  # a <NAME>_FILE that cannot be read
        return UsageError(str(error.__cause__ or error), "`ragbase settings` lists all settings.")
    return None


def _said_and_hint(message: str) -> tuple[str, str]:
    """Our messages say first what is wrong and then what to do."""
    said, _, hint = message.partition(". ")
    return (said, hint) if hint else (message, "`ragbase doctor` checks machine and settings.")


def _api_hint(status: int, code: str, request_id: str | None) -> str:
    if code == "missing_key":
        return (
            "Give a key by RAGBASE_API_KEY or --api-key-file; `ragbase keys create` makes one "
            "beside the server."
        )
    if status == 401:
        return "Look at RAGBASE_API_KEY or --api-key-file; `ragbase keys list` shows which hold."
    if status == 403:
        return "Use a key with that scope; `ragbase keys list` shows what each may do."
    if code == "collection_not_found":
        return "`ragbase ingest PATH --collection NAME --create` makes one."
    if status >= 500 and request_id:
        return f"The server's log has it under request id {request_id}."
    return ""


def _settings_message(error: object) -> str:
    from pydantic import ValidationError

    assert isinstance(error, ValidationError)
    found = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"])
        text = str(item["msg"]).removeprefix("Value error, ")
        found.append(f"{name}: {text}" if name else text)
    return "; ".join(found)


def _fail(error: CliError) -> NoReturn:
    from rich.text import Text

    from ragbase.cli.console import printable, stderr

    line = Text("✗ ", style="bold red").append(printable(error.message), style="red")
    stderr().print(line, soft_wrap=True)
    if error.hint:
        stderr().print(Text("  → " + error.hint, style="dim"), soft_wrap=True)
    raise typer.Exit(error.exit_code) from None


def _interrupted() -> NoReturn:
    from ragbase.cli.console import stderr

    stderr().print("Interrupted.", style="yellow")
    raise typer.Exit(EXIT_INTERRUPTED) from None


def _close_stdout() -> None:
    """The reader went away (`… | head`): keep Python from complaining while it shuts down."""
    import sys

    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, sys.stdout.fileno())
