"""A command uses the server of a state folder whether it runs or not, and leaves it as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres, attached
from ragbase.embedded.ownership import FolderLock, is_held
from ragbase.errors import ConfigurationError

from .ask import answer


@pytest.fixture(scope="module", params=[False, True], ids=["socket", "tcp"])
def data_dir(state_dir: Path, request: pytest.FixtureRequest) -> Path:
    """A stopped cluster."""
    folder = state_dir / f"attach-{request.param}" / "postgres"
    with EmbeddedPostgres(folder, settings=FAST_SETTINGS, tcp=request.param):
        return folder


async def test_a_server_that_runs_is_used_and_goes_on(data_dir: Path) -> None:
    tcp = "True" in data_dir.parent.name
    with EmbeddedPostgres(data_dir, settings=FAST_SETTINGS, tcp=tcp) as server:
        started = await answer(server.dsn, "SELECT pg_postmaster_start_time()")
        with attached(data_dir) as dsn:
            assert dsn == server.dsn
            assert await answer(dsn, "SELECT pg_postmaster_start_time()") == started
        assert await answer(server.dsn, "SELECT pg_postmaster_start_time()") == started


async def test_one_that_does_not_is_started_and_stopped(data_dir: Path) -> None:
    assert not is_held(data_dir)
    with attached(data_dir, FAST_SETTINGS) as dsn:
        assert await answer(dsn, "SELECT current_database()") == "ragbase"
        assert is_held(data_dir)
    assert not is_held(data_dir)
    assert not (data_dir / "postmaster.pid").exists()


def test_an_owner_that_is_still_starting(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path / "postgres")
    lock.acquire()
    try:
        with (
            pytest.raises(ConfigurationError, match="just starting"),
            attached(tmp_path / "postgres"),
        ):
            pass
    finally:
        lock.release()
