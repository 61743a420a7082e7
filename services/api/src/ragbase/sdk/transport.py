"""How both clients reach the server."""

from __future__ import annotations

import os
from typing import Any

import httpx

from ragbase import __version__
from ragbase.sdk.errors import ConnectionFailedError, TimedOutError
from ragbase.sdk.wire import is_loopback

__all__ = ["DEFAULT_URL", "PAGE", "client_arguments", "unreachable"]

DEFAULT_URL = "http://127.0.0.1:5050"
"""Where `ragbase up` listens."""
PAGE = 100
"""Most documents that one list call returns."""
CONNECTIONS_MAX = 256


def client_arguments(url: str, api_key: str | None, timeout: float) -> dict[str, Any]:
    """Arguments of `httpx.Client` and `httpx.AsyncClient`. Raises `ConnectionFailedError`.

    ``api_key`` None: that of RAGBASE_API_KEY; an empty one: none.
    """
    base_url = _base_url(url)
    if api_key is None:
        api_key = os.environ.get("RAGBASE_API_KEY")
    headers = {
        "User-Agent": f"ragbase-sdk/{__version__}",
        "Accept": "application/json",
        "Content-Type": "application/json",
    }
    if api_key:
        if not (api_key.isascii() and api_key.isprintable()):
            raise ConnectionFailedError("the API key holds characters that no key has")
        headers["Authorization"] = f"Bearer {api_key}"
    return {
        "base_url": base_url,
        "headers": headers,
        "timeout": httpx.Timeout(timeout, connect=min(timeout, 10.0)),
        "limits": httpx.Limits(
            max_connections=CONNECTIONS_MAX, max_keepalive_connections=CONNECTIONS_MAX
        ),
        "trust_env": not is_loopback(base_url),
        # Without TLS nobody checks certificates, and loading them takes as long as ten searches.
        "verify": base_url.scheme == "https",
    }


def unreachable(url: httpx.URL, error: httpx.HTTPError) -> ConnectionFailedError:
    """The error that a person can act on for a failed connection."""
    if isinstance(error, httpx.TimeoutException):
        return TimedOutError(f"{url} did not answer in time")
    if isinstance(error, httpx.ConnectError):
        return ConnectionFailedError(f"nothing answers at {url}")
    return ConnectionFailedError(f"the connection to {url} broke: {type(error).__name__}")


def _base_url(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConnectionFailedError(f"not a URL: {url} ({error})") from error
    if parsed.scheme not in ("http", "https") or not parsed.host:
        raise ConnectionFailedError(f"not an http(s) URL: {url}")
    return parsed
