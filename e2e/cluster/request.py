"""Plain HTTPS requests to an API server: what tests need before any client of ours is proven."""

from __future__ import annotations

import http.client
import json
import ssl
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

__all__ = ["Answer", "request"]


class Answer(NamedTuple):
    """Status code, JSON body ({} where it is none), and the texts of Warning headers."""

    status: int
    body: dict[str, Any]
    warnings: list[str]


def request(
    url: str,
    ca_file: Path,
    token: str,
    method: str,
    body: Any = None,
    content_type: str = "application/json",
    timeout_s: float = 30.0,
) -> Answer:
    """One request on a connection of its own; OSError where the server does not answer."""
    parts = urlsplit(url)
    context = ssl.create_default_context(cafile=str(ca_file))
    connection = http.client.HTTPSConnection(parts.netloc, context=context, timeout=timeout_s)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": content_type}
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"{parts.path}?{parts.query}", sent, headers)
        response = connection.getresponse()
        warnings = response.headers.get_all("Warning", [])
        return Answer(response.status, as_json(response.read()), warnings)
    finally:
        connection.close()


def as_json(body: bytes) -> dict[str, Any]:
    """A JSON object, or {} for what is none (``ok`` of health paths)."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
