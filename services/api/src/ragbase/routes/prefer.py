"""`Prefer` (RFC 7240): answer now and work later, or wait for so many seconds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Header

__all__ = ["MAX_WAIT_S", "Prefer", "Preferences", "read_preferences"]

MAX_WAIT_S = 60
"""Longest that a caller is kept waiting for a job; a wish for more is cut to this."""


@dataclass(frozen=True, slots=True)
class Prefer:
    """What the caller would like best. ``wait_s`` is at most `MAX_WAIT_S`."""

    respond_async: bool = False
    wait_s: int = 0


def read_preferences(values: Iterable[str]) -> Prefer:
    """The preferences we know, from all `Prefer` headers; others, and malformed ones, are ignored.

    Of one that is given twice the first counts, as the RFC says.
    """
    found: dict[str, str] = {}
    for preference in ",".join(values).split(","):
        token, _, value = preference.partition(";")[0].partition("=")
        found.setdefault(token.strip().lower(), value.strip().strip('"'))
    wait = found.get("wait", "")
    seconds = int(wait[:9]) if wait.isascii() and wait.isdigit() else 0
    return Prefer("respond-async" in found, min(seconds, MAX_WAIT_S))


async def _preferences(
    prefer: Annotated[
        list[str] | None,
        Header(
            description="`respond-async`: 202 and a job at once; with `wait=N` the result instead, "
            f"if it is there within N seconds (at most {MAX_WAIT_S})."
        ),
    ] = None,
) -> Prefer:
    return read_preferences(prefer or ())


Preferences = Annotated[Prefer, Depends(_preferences)]
