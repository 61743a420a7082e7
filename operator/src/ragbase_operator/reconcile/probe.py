"""A real search with the key `probe`: the last word on whether a stack is ready."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Protocol

import aiohttp

__all__ = ["Counts", "HttpProbe", "Probe", "SearchAnswer"]

_QUERY = {"query": "is anybody there", "top_k": 1, "include_graph": False, "rerank": False}
_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """Whether a search was answered; ``message`` says why not, or what was missing in it."""

    ok: bool
    message: str = ""


@dataclass(frozen=True, slots=True)
class Counts:
    """What is stored."""

    documents: int
    chunks: int
    entities: int


class Probe(Protocol):
    """Asks a RagBase's API; never raises for what the API or the network does."""

    async def search(self, url: str, key: str | None) -> SearchAnswer:
        """One search at the API whose root is ``url``; ``key`` None: without auth."""
        ...

    async def count(self, url: str, key: str | None) -> Counts | None:
        """What is stored; None where the API does not tell."""
        ...

    async def projection(self, url: str, key: str | None) -> str | None:
        """How the API finds Memgraph: `connected`, or what is wrong; None where it does not tell."""
        ...


class HttpProbe:
    """Implements `Probe` over HTTP. Connections are not kept: a probe asks once in a while."""

    def __init__(self, timeout_s: float = _TIMEOUT_S) -> None:
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)

    async def search(self, url: str, key: str | None) -> SearchAnswer:
        """See `Probe.search`."""
        try:
            status, body = await self._ask("POST", f"{url}/v1/search", key, _QUERY)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return SearchAnswer(ok=False, message=f"{url} does not answer ({_named(error)})")
        if status == HTTPStatus.OK:
            return SearchAnswer(ok=True, message=_warnings(body))
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return SearchAnswer(
                ok=False,
                message=f"{url} refuses the key `probe` ({status}); restart the API's pods",
            )
        return SearchAnswer(ok=False, message=f"{url} answers {status}: {_detail(body)}")

    async def count(self, url: str, key: str | None) -> Counts | None:
        """See `Probe.count`."""
        try:
            status, body = await self._ask("GET", f"{url}/v1/stats", key, None)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        if status != HTTPStatus.OK or not isinstance(body, dict):
            return None
        fields = (body.get(name) for name in ("documents", "chunks", "entities"))
        documents, chunks, entities = (each if isinstance(each, int) else 0 for each in fields)
        return Counts(documents, chunks, entities)

    async def projection(self, url: str, key: str | None) -> str | None:
        """See `Probe.projection`; `memgraph` of the API's `/health`."""
        try:
            status, body = await self._ask("GET", f"{url}/health", key, None)
        except (aiohttp.ClientError, TimeoutError, OSError):
            return None
        if status != HTTPStatus.OK or not isinstance(body, dict):
            return None
        word = body.get("memgraph")
        return word if isinstance(word, str) else None

    async def _ask(self, method: str, url: str, key: str | None, body: Any) -> tuple[int, Any]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            aiohttp.ClientSession(timeout=self._timeout) as session,
            session.request(method, url, json=body, headers=headers) as response,
        ):
            try:
                return response.status, await response.json(content_type=None)
            except ValueError:
                return response.status, None


def _named(error: Exception) -> str:
    return "time-out" if isinstance(error, asyncio.TimeoutError) else str(error) or repr(error)


def _warnings(body: Any) -> str:
    """What the answer lacked, where it was degraded."""
    if not isinstance(body, dict) or not body.get("degraded"):
        return ""
    return "; ".join(str(each.get("message", "")) for each in body.get("warnings") or [])


def _detail(body: Any) -> str:
    if isinstance(body, dict):
        return str(body.get("detail") or body.get("message") or body.get("code") or "no detail")
    return "no detail"
