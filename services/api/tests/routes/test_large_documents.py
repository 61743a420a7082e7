"""Documents near the limit: how many are worked on at once, and that small ones pass them by."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from ragbase.clients.embedder import Embedder
from ragbase.models.domain import Vectors

from .conftest import OpenApp

LARGE = "word " * 24_000  # 120,000 characters; the limits below let two be worked on


class Held:
    """An embedder that keeps long documents until it is told to go on."""

    def __init__(self, real: Embedder) -> None:
        self._real = real
        self.go_on = asyncio.Event()
        self.under_way = 0
        self.two = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if len(texts) > 1:
            self.under_way += 1
            if self.under_way == 2:
                self.two.set()
            await self.go_on.wait()
        dimension = (await self._real.info()).dimension
        return np.ones((len(texts), dimension), np.float32) / np.float32(dimension**0.5)


async def test_large_documents_wait_for_one_another_and_small_ones_do_not(
    open_app: OpenApp, embedder: Embedder
) -> None:
    """B013: the memory of several large documents is bounded, too."""
    held: Any = Held(embedder)
    _, api = await open_app(embedder=held, max_text_chars=130_000)

    async def post(content: str) -> int:
        body = {"title": "T", "content": content}
        return (await api.post("/v1/documents", json=body)).status_code

    large = [asyncio.create_task(post(LARGE)) for _ in range(4)]
    await asyncio.wait_for(held.two.wait(), 30)
    assert await asyncio.wait_for(post("Ships moor."), 30) == 201
    assert held.under_way == 2
    held.go_on.set()
    assert await asyncio.gather(*large) == [201] * 4
