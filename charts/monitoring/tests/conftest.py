"""A Prometheus, and all parts under load before it.

``RAGBASE_REQUIRE`` is a list of names; with ``monitoring`` among them nothing may be skipped.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import pytest_asyncio

from charts.monitoring.live.binaries import Binaries, UnavailableError, find_binaries
from charts.monitoring.live.observed import Observed, observed
from e2e.cluster import UnavailableError as NoControlPlaneError
from e2e.cluster import find_binaries as find_control_plane

LOAD_S = 45.0
"""Longer than it takes to store the gauges of the index, and enough for rates."""


def _give_up(error: Exception) -> NoReturn:
    if "monitoring" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split():
        raise error
    pytest.skip(str(error))


@pytest.fixture(scope="session")
def binaries() -> Binaries:
    """Prometheus and promtool."""
    try:
        return find_binaries()
    except UnavailableError as error:
        _give_up(error)


@pytest.fixture(scope="session", autouse=True)
def _no_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No model but the bundled one: tests fetch nothing, and find nothing that a user fetched."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("HF_HUB_CACHE", str(tmp_path_factory.mktemp("hub")))
        yield


@pytest_asyncio.fixture(scope="session")
async def seen(binaries: Binaries) -> AsyncIterator[Observed]:
    """API, worker, inference server and operator, used for a while, still running."""
    try:
        find_control_plane()
    except NoControlPlaneError as error:
        _give_up(error)
    async with observed(binaries, LOAD_S) as running:
        yield running


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return Path(__file__).parents[3]
