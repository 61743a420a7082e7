"""The socket of the second API beside the first, where it can be had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ragbase.cli.errors import CliError
from ragbase.cli.ports import claim

if TYPE_CHECKING:
    import socket

    from ragbase.cli.steps import Steps
    from ragbase.settings import Settings

__all__ = ["second_listener"]


@contextmanager
def second_listener(settings: Settings, steps: Steps) -> Iterator[socket.socket | None]:
    """A socket on LOCALRAG_PORT; None where the second API is off, or its port is taken.

    A port that nobody chose gives way: a free one beside a free one, and nothing, with a word on
    who holds it, where it is taken. One that was chosen must be had: `CliError`.
    """
    if not settings.localrag_enabled:
        yield None
        return
    chosen = "localrag_port" in settings.model_fields_set
    free = settings.port == 0 and not chosen
    try:
        listener = claim(settings.host, 0 if free else settings.localrag_port)
    except CliError as error:
        if chosen:
            raise CliError(error.message, "Choose another with LOCALRAG_PORT.") from error
        steps.console.print(
            f"! The second API is not served: {error.message}. Choose another port with "
            "LOCALRAG_PORT, or turn it off with LOCALRAG_ENABLED=false.",
            style="yellow",
            markup=False,
            soft_wrap=True,
        )
        yield None
        return
    with listener:
        yield listener
