"""Fixtures of tests that use the real API through the client: import them in a conftest."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from ragbase.sdk import Client

__all__ = ["client", "collection"]


@pytest.fixture
def client(api_url: str) -> Iterator[Client]:
    with Client(api_url) as opened:
        yield opened


@pytest.fixture
def collection(client: Client) -> Iterator[str]:
    """An empty collection of this test alone."""
    name = f"t-{uuid.uuid4().hex[:12]}"
    client.collections.create(name)
    yield name
    client.collections.delete(name)
