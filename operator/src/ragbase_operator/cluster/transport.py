"""One request to the API server: time limits, tries, and the server's warnings."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
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

__all__ = ["Response", "Transport"]

TIMEOUT_S = 60.0
"""For a call with all its tries: a connection that was cut silently is noticed by then."""

CONNECT_TIMEOUT_S = 10.0

READ_TIMEOUT_S = 35.0
"""Longest silence in a response: above the 30 s that an admission webhook may take, and short
enough that a dead connection leaves time for a fresh one."""

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


class Transport:
    """Requests over kept connections. Retries are safe because the port's requests are
    idempotent: apply, list, and delete."""

    def __init__(self, configuration: Configuration) -> None:
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
            async with asyncio.timeout(TIMEOUT_S):
                while True:
                    failure, wait = "", 0.0
                    try:
                        response, wait = await self._once(method, url, body, content_type)
                        if not may_pass(response.status):
                            return response
                        failure = f"{response.status} {response.body.get('message', '')}"
                    except (aiohttp.ClientError, TimeoutError, OSError) as error:
                        failure = str(error) or type(error).__name__
                    await pause(waits, wait, f"{method} {path}: {failure}")
        except TimeoutError as error:
            raise ClusterError(f"{method} {path}: no answer in {TIMEOUT_S:.0f} s") from error

    async def _once(
        self, method: str, url: str, body: dict[str, Any] | None, content_type: str
    ) -> tuple[Response, float]:
        """One try; the response, and the seconds that it asks to wait before another."""
        raw: aiohttp.ClientResponse = await self._client.call_api(
            url,
            method,
            header_params={"Accept": "application/json", "Content-Type": content_type},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
            _request_timeout=aiohttp.ClientTimeout(
                total=TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S, sock_read=READ_TIMEOUT_S
            ),
        )
        async with raw:
            content = await raw.read()
        self._tell(raw.headers.getall("Warning", []))
        return Response(raw.status, as_object(content)), retry_after(raw.headers.get("Retry-After"))

    def _tell(self, warnings: Sequence[str]) -> None:
        """Log the texts of ``Warning`` headers, each once: deprecations, unknown fields."""
        for warning in warnings:
            if warning not in self._warnings and len(self._warnings) < REMEMBERED_WARNINGS:
                self._warnings.add(warning)
                log.warning("api_server_warning", warning=warning_text(warning))


async def pause(waits: Any, asked: float, failure: str) -> None:
    """Wait before the next try.

    Raises:
        ClusterError: with ``failure``, if there is no other try.
    """
    wait = next(waits, None)
    if wait is None or asked > LONGEST_RETRY_AFTER_S:
        raise ClusterError(failure)
    log.info("api_server_retry", failure=failure, seconds=round(max(wait, asked), 2))
    await asyncio.sleep(max(wait, asked))


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
