"""Stores files and lists them, as clients of the second API do."""

from __future__ import annotations

from typing import Any

import httpx

__all__ = ["listed", "store"]


async def store(client: httpx.AsyncClient, document: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/store", json={"document": document, **fields})
    assert answer.status_code == 200, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


async def listed(client: httpx.AsyncClient, query: str = "") -> dict[str, Any]:
    answer = await client.get(f"/v1/documents{query}")
    assert answer.status_code == 200, answer.text
    page: dict[str, Any] = answer.json()
    return page
