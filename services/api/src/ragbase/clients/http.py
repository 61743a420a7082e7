"""HTTP to a model server: address, key, time-outs, size bound and retries, async and sync.

One client (one connection pool) a server. Redirects are not followed: a key must not travel
to a host that nobody configured.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from time import monotonic
from typing import Literal, TypeVar

import httpx
import orjson

from ragbase.clients.answers import Answer, TransientError, checked
from ragbase.clients.retry import Retries, RetryPolicy
from ragbase.clients.server_role import EMBEDDING, ServerRole
from ragbase.clients.vectors import UnusableAnswerError
from ragbase.errors import ConfigurationError

__all__ = ["AsyncHttp", "Endpoint", "StreamedAnswer", "SyncHttp"]

T = TypeVar("T")
Method = Literal["GET", "POST"]

MIB = 1024 * 1024
ANSWER_BYTES = 64 * MIB
"""Largest answer that is read; 32 vectors of 4,096 numbers are under 4 MiB of JSON."""
ERROR_BYTES = 64 * 1024
CONNECT_S = 5.0

_UNREAD = frozenset({401, 413})
"""TEI answers these before it has read the request and closes without saying so; closing unread
answers keeps the dead connection out of the pool."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Base URL without credentials, and the secret that goes into a header instead."""

    url: str
    secret: str = field(default="", repr=False)
    basic: tuple[str, str] | None = field(default=None, repr=False)
    server: ServerRole = EMBEDDING

    @classmethod
    def parse(cls, url: str, api_key: str = "", server: ServerRole = EMBEDDING) -> Endpoint:
        """Endpoint of a setting's ``url``; `ConfigurationError` says what is wrong with it."""
        setting, key_setting = server.url_setting, server.key_setting
        try:
            parsed = httpx.URL(url.strip())
        except httpx.InvalidURL:
            raise ConfigurationError(f"{setting} is no URL.") from None
        if parsed.scheme not in ("http", "https") or not parsed.host:
            raise ConfigurationError(f"{setting} must begin with http:// or https:// and a host.")
        if not 0 < (parsed.port or 80) < 65536:
            raise ConfigurationError(f"{setting} has a port beyond 65535.")
        if parsed.query or parsed.fragment:
            raise ConfigurationError(f"{setting} must have no query and no fragment.")
        if not (api_key.isascii() and api_key.isprintable()) or " " in api_key:
            raise ConfigurationError(f"{key_setting} must be printable ASCII without blanks.")
        basic = (parsed.username, parsed.password) if parsed.userinfo else None
        if basic and api_key:
            raise ConfigurationError(f"Give {key_setting} or a user in {setting}, not both.")
        bare = parsed.copy_with(username=None, password=None)
        return cls(str(bare).rstrip("/"), api_key or parsed.password, basic, server)

    def headers(self) -> dict[str, str]:
        """Sent with every request. Compression is declined: its bombs pass any size bound."""
        own = {
            "accept": "application/json",
            "accept-encoding": "identity",
            "content-type": "application/json",
        }
        if self.secret and not self.basic:
            own["authorization"] = f"Bearer {self.secret}"
        return own

    @property
    def local(self) -> bool:
        """On this machine, where no proxy is asked whatever the environment says."""
        return httpx.URL(self.url).host in ("localhost", "127.0.0.1", "::1")

    def address(self, path: str) -> str:
        """Full URL of ``path`` below the base URL."""
        return f"{self.url}/{path}"


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """A 200 answer that is still arriving; ``pieces`` are its bytes, cut anywhere."""

    media_type: str
    pieces: AsyncIterator[bytes]


class AsyncHttp:
    """Requests from the event loop."""

    def __init__(self, endpoint: Endpoint, *, timeout_s: float) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self._client = httpx.AsyncClient(
            auth=endpoint.basic,
            headers=endpoint.headers(),
            verify=_tls() if endpoint.url.startswith("https:") else False,
            trust_env=not endpoint.local,
            limits=httpx.Limits(max_connections=64, max_keepalive_connections=16),
        )

    async def call(
        self,
        method: Method,
        path: str,
        payload: object | None = None,
        *,
        read: Callable[[Answer], T],
        policy: RetryPolicy,
    ) -> T:
        """``read`` of the 200 answer, retried as ``policy`` says.

        Raises `TransientError` (an `EmbedderUnavailableError`) when the retries are used up,
        `RefusedError` on a final no, and what ``read`` raises.
        """
        retries = Retries(policy)
        async for attempt in retries:
            with attempt:
                answer = await self.send(method, path, payload, within_s=retries.seconds_left)
                return read(checked(answer, secret=self.endpoint.secret))
        raise AssertionError("the last attempt returns or raises")

    async def send(
        self, method: Method, path: str, payload: object | None = None, *, within_s: float
    ) -> Answer:
        """One attempt, of at most ``within_s`` seconds and never more than the time-out."""
        limit_s = min(self.timeout_s, within_s)
        request = self._client.build_request(
            method, self.endpoint.address(path), content=_json(payload), timeout=_time_outs(limit_s)
        )
        with _transport_errors(self.endpoint.server, limit_s):
            async with asyncio.timeout(limit_s):
                response = await self._client.send(request, stream=True)
                try:
                    return await self._receive(response)
                finally:
                    await response.aclose()

    @asynccontextmanager
    async def stream(
        self, path: str, payload: object, *, accept: str, within_s: float
    ) -> AsyncIterator[StreamedAnswer]:
        """POST, and the answer as it arrives; one attempt, never retried.

        The whole block may take ``within_s`` seconds, however steadily the server drips, and never
        more than the time-out. Leaving it early closes the connection, by which servers know that
        nobody listens. Raises as `call`.
        """
        limit_s = min(self.timeout_s, within_s)
        request = self._client.build_request(
            "POST",
            self.endpoint.address(path),
            content=_json(payload),
            headers={"accept": accept},
            timeout=_time_outs(limit_s),
        )
        with _transport_errors(self.endpoint.server, limit_s):
            async with asyncio.timeout(limit_s):
                response = await self._client.send(request, stream=True)
                try:
                    if response.status_code != httpx.codes.OK:
                        checked(await self._receive(response), secret=self.endpoint.secret)
                    media_type = response.headers.get("content-type", "").partition(";")[0]
                    pieces = _bounded(response.aiter_bytes(), ANSWER_BYTES, self.endpoint.server)
                    yield StreamedAnswer(media_type.strip().lower(), pieces)
                finally:
                    await response.aclose()

    async def _receive(self, response: httpx.Response) -> Answer:
        body = _Body(response, self.endpoint.server)
        if body.wanted:
            async for part in response.aiter_bytes():
                if body.add(part):
                    break
        return body.answer()

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


class SyncHttp:
    """The same from a worker thread."""

    def __init__(self, endpoint: Endpoint, *, timeout_s: float) -> None:
        self.endpoint = endpoint
        self.timeout_s = timeout_s
        self._client = httpx.Client(
            auth=endpoint.basic,
            headers=endpoint.headers(),
            verify=_tls() if endpoint.url.startswith("https:") else False,
            trust_env=not endpoint.local,
            limits=httpx.Limits(max_connections=16, max_keepalive_connections=4),
        )

    def call(
        self,
        method: Method,
        path: str,
        payload: object | None = None,
        *,
        read: Callable[[Answer], T],
        policy: RetryPolicy,
    ) -> T:
        """As `AsyncHttp.call`; blocks."""
        retries = Retries(policy)
        for attempt in retries:
            with attempt:
                answer = self.send(method, path, payload, within_s=retries.seconds_left)
                return read(checked(answer, secret=self.endpoint.secret))
        raise AssertionError("the last attempt returns or raises")

    def send(
        self, method: Method, path: str, payload: object | None = None, *, within_s: float
    ) -> Answer:
        """One attempt; a server that drips is cut off at the first byte after the limit."""
        limit_s = min(self.timeout_s, within_s)
        request = self._client.build_request(
            method, self.endpoint.address(path), content=_json(payload), timeout=_time_outs(limit_s)
        )
        deadline = monotonic() + limit_s
        with _transport_errors(self.endpoint.server, limit_s):
            response = self._client.send(request, stream=True)
            try:
                return self._receive(response, deadline)
            finally:
                response.close()

    def _receive(self, response: httpx.Response, deadline: float) -> Answer:
        body = _Body(response, self.endpoint.server)
        if body.wanted:
            for part in response.iter_bytes():
                if body.add(part):
                    break
                if monotonic() > deadline:
                    raise TimeoutError
        return body.answer()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()


class _Body:
    """Collects a body up to its bound: an error text is cut there, an answer refused."""

    def __init__(self, response: httpx.Response, server: ServerRole) -> None:
        self._response = response
        self._server = server
        self._ok = response.status_code == httpx.codes.OK
        self._bound = ANSWER_BYTES if self._ok else ERROR_BYTES
        self._body = bytearray()
        self.wanted = response.status_code not in _UNREAD

    def add(self, part: bytes) -> bool:
        """Whether that was enough."""
        self._body += part
        if len(self._body) <= self._bound:
            return False
        if self._ok:
            raise UnusableAnswerError(
                f"The {self._server.what}'s answer is larger than {self._bound // MIB} MiB."
            )
        return True

    def answer(self) -> Answer:
        response = self._response
        return Answer(response.status_code, dict(response.headers), bytes(self._body), self._server)


@cache
def _tls() -> ssl.SSLContext:
    """One for all clients; reading the authorities' certificates takes a tenth of a second."""
    return httpx.create_ssl_context()


async def _bounded(
    pieces: AsyncIterator[bytes], most: int, server: ServerRole
) -> AsyncIterator[bytes]:
    """``pieces`` of at most ``most`` bytes together."""
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > most:
            raise UnusableAnswerError(f"The {server.what}'s answer is larger than {most} bytes.")
        yield piece


def _json(payload: object | None) -> bytes | None:
    return None if payload is None else orjson.dumps(payload)


def _time_outs(seconds: float) -> httpx.Timeout:
    return httpx.Timeout(seconds, connect=min(CONNECT_S, seconds))


@contextmanager
def _transport_errors(server: ServerRole, limit_s: float) -> Iterator[None]:
    """What goes wrong below HTTP, as `TransientError` without addresses."""
    try:
        yield
    except (TimeoutError, httpx.ReadTimeout, httpx.WriteTimeout, httpx.PoolTimeout):
        raise TransientError(
            f"The {server.what} did not answer within {limit_s:.3g} seconds.", late=True
        ) from None
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise TransientError(f"The {server.what} cannot be reached.") from None
    except httpx.TransportError:
        raise TransientError(f"The {server.what} broke the connection.") from None
    except httpx.DecodingError:
        raise UnusableAnswerError(f"The {server.what}'s answer cannot be decompressed.") from None
