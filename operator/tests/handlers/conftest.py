"""The operator against a real control plane."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from e2e.cluster import ControlPlane
from e2e.operator_kit import Harness


@pytest_asyncio.fixture
async def stage(server: ControlPlane, tmp_path: Path) -> AsyncIterator[Harness]:
    """A fresh namespace; the operator is started by the test, and ended after it."""
    namespace = server.create_namespace()
    harness = Harness(server, namespace, tmp_path / "operator.log")
    try:
        yield harness
    finally:
        await harness.close()
        server.delete_namespace(namespace)
