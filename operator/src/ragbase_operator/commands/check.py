"""Ask an operator's metrics whether its watch works: what ``helm test`` runs."""

from __future__ import annotations

import asyncio
import time
from http import HTTPStatus

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

__all__ = ["AGE_LIMIT_S", "NotWellError", "check"]

AGE_LIMIT_S = 90.0
"""Three heartbeats: as old as its health allows the last one to be."""
_AGE = "ragbase_operator_watch_age_seconds"
_PAUSE_S = 2.0


class NotWellError(Exception):
    """The operator does not answer, or its watch has stopped; the message says which."""


async def check(url: str, timeout_s: float) -> float:
    """Seconds since the operator's watch showed its heartbeat; tried again for ``timeout_s``.

    Raises:
        NotWellError: it never answered, or the watch is older than `AGE_LIMIT_S`.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return await _age(url)
        except NotWellError:
            if time.monotonic() >= deadline:
                raise
        await asyncio.sleep(_PAUSE_S)


async def _age(url: str) -> float:
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=10)) as session,
            session.get(url) as response,
        ):
            status, text = response.status, await response.text()
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise NotWellError(f"{url} does not answer: {error or type(error).__name__}") from error
    if status != HTTPStatus.OK:
        raise NotWellError(f"{url} answers {status}")
    ages = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == _AGE
    ]
    if not ages:
        raise NotWellError(f"{url} has no {_AGE}: not an operator of RagBase")
    if ages[0] > AGE_LIMIT_S:
        raise NotWellError(f"the watch showed nothing for {ages[0]:.0f} s: logs of the operator")
    return ages[0]
