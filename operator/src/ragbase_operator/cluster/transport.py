"""One request to the API server: time limits, tries, and the server's warnings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import aiohttp
import structlog
from kubernetes_asyncio.client import ApiClient, Configuration

from ragbase_operator import __version__
from ragbase_operator.cluster.port import ClusterError
from ragbase_operator.cluster.retry import (
    LONGEST_RETRY_AFTER_S,
    delays,
    may_pass,
    retry_after,
)

__all__ = ["Limits", "Response", "Transport"]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that are waited."""

    total: float = 60.0
    """For a call with all its tries: a connection that was cut silently is noticed by then."""
    connect: float = 10.0
    read: float = 35.0
    """Longest silence in a response: above the 30 s that an admission webhook may take, and
    short enough that a dead connection leaves time for a fresh one."""


ATTEMPTS = 5

REMEMBERED_WARNINGS = 200
"""Distinct warnings that are logged; a server that makes up new ones is not listened to."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Response:
    """What the API server answered: a status and a JSON object ({} where it is none)."""

    status: int
    body: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether it is a success."""
        return self.status < HTTPStatus.BAD_REQUEST


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that may go better later, after ``retry_after`` seconds or more."""

    message: str
    retry_after: float = 0.0


class Transport:
    """Requests over kept connections. Retries are safe because the port's requests are
    idempotent: apply, list, and delete."""

    def __init__(self, configuration: Configuration, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._timeout = aiohttp.ClientTimeout(
            sock_connect=self._limits.connect, sock_read=self._limits.read
        )
        self._client = ApiClient(configuration)
        self._client.user_agent = f"ragbase-operator/{__version__}"
        self._warnings: set[str] = set()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def request(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        body: dict[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Response:
        """Ask until there is an answer that will not pass by waiting.

        Raises:
            ClusterError: no such answer within the time limit or the number of tries.
        """
        url = f"{path}?{urlencode(query)}" if query else path
        waits = delays(ATTEMPTS)
        try:
            async with asyncio.timeout(self._limits.total):
                while isinstance(
                    answer := await self._once(method, url, body, content_type), Failure
                ):
                    await pause(waits, answer)
                return answer
        except TimeoutError as error:
            waited = f"no answer in {self._limits.total:.0f} s"
            raise ClusterError(f"{method} {path}: {waited}") from error

    async def _once(
        self, method: str, url: str, body: dict[str, Any] | None, content_type: str
    ) -> Response | Failure:
        """One try."""
        try:
            raw: aiohttp.ClientResponse = await self._client.call_api(
                url,
                method,
                header_params={"Accept": "application/json", "Content-Type": content_type},
                body=body,
                auth_settings=["BearerToken"],
                _preload_content=False,
                _request_timeout=self._timeout,
            )
            async with raw:
                content = as_object(await raw.read())
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return Failure(f"{method} {url}: {str(error) or type(error).__name__}")
        self._tell(raw.headers.getall("Warning", []))
        if may_pass(raw.status):
            message = f"{method} {url}: {raw.status} {content.get('message', '')}"
            return Failure(message, retry_after(raw.headers.get("Retry-After")))
        return Response(raw.status, content)

    def _tell(self, warnings: Sequence[str]) -> None:
        """Log the texts of ``Warning`` headers, each once: deprecations, unknown fields."""
        for warning in warnings:
            if warning not in self._warnings and len(self._warnings) < REMEMBERED_WARNINGS:
                self._warnings.add(warning)
                log.warning("api_server_warning", warning=warning_text(warning))


async def pause(waits: Iterator[float], failure: Failure) -> None:
    """Wait before the next try.

    Raises:
        ClusterError: there is no other try.
    """
    wait = next(waits, None)
    if wait is None or failure.retry_after > LONGEST_RETRY_AFTER_S:
        raise ClusterError(failure.message)
    seconds = max(wait, failure.retry_after)
    log.info("api_server_retry", failure=failure.message, seconds=round(seconds, 2))
    await asyncio.sleep(seconds)


def as_object(content: bytes) -> dict[str, Any]:
    """A JSON object; proxies and health paths answer other things, which tell nothing here."""
    try:
        found = json.loads(content)
    except ValueError:
        return {"message": content[:200].decode(errors="replace")}
    return found if isinstance(found, dict) else {}


def warning_text(header: str) -> str:
    """The text in ``299 - "text"`` (RFC 7234, 5.5)."""
    _, _, rest = header.partition('"')
    return rest.rpartition('"')[0].replace('\\"', '"') or header
