"""Postgres' programs connect to where the driver does, and nothing secret becomes an argument."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE

import asyncpg
import pytest

from ragbase.embedded.binaries import locate_binaries
from ragbase.errors import ConfigurationError
from ragbase.storage.libpq import libpq_environment
from ragbase.storage.pg_tools import run_tool


def connection_of(dsn: str, **settings: str) -> dict[str, str]:
    found = libpq_environment(dsn, settings)
    return {name: found[name] for name in found if name.startswith("PG")}


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGPORT", "PGUSER", "PGPASSWORD", "PGDATABASE", "PGOPTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("dsn", "expected"),
    [
        (
            "postgresql://me:s%3Acret%40@db.example:5433/know%20ledge",
            {
                "PGUSER": "me",
                "PGPASSWORD": "s:cret@",
                "PGHOST": "db.example",
                "PGPORT": "5433",
                "PGDATABASE": "know ledge",
            },
        ),
        (
            "postgres:///x?host=/run/pg&port=1",
            {"PGHOST": "/run/pg", "PGPORT": "1", "PGDATABASE": "x"},
        ),
        ("postgresql://[::1]:5432/x", {"PGHOST": "::1", "PGPORT": "5432", "PGDATABASE": "x"}),
        ("postgresql://a:1,b:2/x", {"PGHOST": "a,b", "PGPORT": "1,2", "PGDATABASE": "x"}),
        (
            "postgresql://a/x?sslmode=require",
            {"PGHOST": "a", "PGDATABASE": "x", "PGSSLMODE": "require"},
        ),
        (
            "postgresql://a/x?user=u&password=p",
            {"PGHOST": "a", "PGDATABASE": "x", "PGUSER": "u", "PGPASSWORD": "p"},
        ),
    ],
)
def test_a_url_in_variables(dsn: str, expected: dict[str, str]) -> None:
    found = connection_of(dsn)
    assert {name: found[name] for name in expected} == expected
    assert found["PGAPPNAME"] == "ragbase-backup"


def test_settings_of_the_url_and_ours_become_options() -> None:
    found = connection_of("postgresql://a/x?search_path=rag,%20public", work_mem="1GB")
    assert found["PGOPTIONS"] == r"-c search_path=rag,\ public -c work_mem=1GB"


def test_what_the_url_leaves_out_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PGUSER", "someone")
    monkeypatch.setenv("PGHOST", "elsewhere")
    monkeypatch.setenv("PGSERVICE", "other")
    monkeypatch.setenv("PGOPTIONS", "-c search_path=theirs")
    found = connection_of("postgresql://here/x")
    assert (found["PGUSER"], found["PGHOST"]) == ("someone", "here")
    assert "PGSERVICE" not in found  # it would win over the URL
    assert found["PGOPTIONS"] == ""


def test_a_url_that_is_none() -> None:
    with pytest.raises(ConfigurationError, match="DATABASE_URL is not valid"):
        libpq_environment("postgresql://[::1/x")


async def test_program_and_driver_meet_the_same_database(database_url: str) -> None:
    psql = locate_binaries().program("psql")
    asked = "SELECT current_database() || current_user || current_setting('work_mem')"
    said = await run_tool(
        [str(psql), "-XAtqc", asked],
        environment=libpq_environment(database_url, {"work_mem": "7MB"}),
        stdout=PIPE,
    )
    connection = await asyncpg.connect(database_url, server_settings={"work_mem": "7MB"})
    try:
        assert said.decode().strip() == await connection.fetchval(asked)
    finally:
        await connection.close()


async def test_a_program_that_is_cancelled_is_ended() -> None:
    running = asyncio.create_task(run_tool(["/bin/sleep", "60"], environment={}))
    await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
