"""Server-sent events out of bytes (WHATWG HTML, §9.2.6 "Interpreting an event stream").

Only what model servers need: no ``id``, no ``retry``. Lines end with LF or CRLF; other characters
that Python's `str.splitlines` would split at stand raw inside JSON and must not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

__all__ = ["Event", "events"]


@dataclass(frozen=True, slots=True)
class Event:
    """``name`` is "" where no ``event:`` line gave one."""

    name: str
    data: str


async def events(pieces: AsyncIterator[bytes]) -> AsyncIterator[Event]:
    """Each event as soon as it is there; one that the stream's end cuts off is dropped."""
    name, data = "", list[str]()
    async for line in _lines(pieces):
        if not line:
            if data:
                yield Event(name, "\n".join(data))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        if b"\n" not in piece:
            continue
        *whole, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for line in whole:
            yield line.removesuffix(b"\r").decode(errors="replace")
