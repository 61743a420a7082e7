"""`ragbase jobs` and the clients' jobs, against the real API."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial

import pytest
from typer.testing import Result

from ragbase.sdk import ApiError, AsyncClient, Client

Run = Callable[..., Result]


@pytest.fixture
def run(run_live: Run) -> Run:
    """Runs `ragbase jobs`."""
    return partial(run_live, "jobs")


def test_a_job_is_followed_to_its_end(run: Run, client: Client, collection: str) -> None:
    job = client.jobs.ingest("Tides", "High water at noon.", collection=collection)
    shown = run("show", str(job.id), "--wait", "30")
    assert shown.exit_code == 0, shown.output
    assert "succeeded" in shown.output
    assert collection in shown.output
    (listed,) = json.loads(run("list", "--collection", collection, "--json").stdout)
    assert (listed["id"], listed["state"]) == (job.id, "succeeded")
    stored = client.documents.get(listed["document_id"])
    assert stored.title == "Tides"
    assert run("list", "-c", collection, "--state", "failed", "--json").stdout.strip() == "[]"
    again = run("retry", str(job.id))
    assert again.exit_code == 1
    assert "succeeded" in again.stderr


def test_a_job_that_is_not_there_ends_with_an_error(run: Run, client: Client) -> None:
    for command in ("show", "cancel", "retry"):
        result = run(command, "987654321")
        assert (result.exit_code, "Job not found" in result.stderr) == (1, True)
    with pytest.raises(ApiError) as caught:
        client.jobs.get(987654321)
    assert caught.value.code == "job_not_found"


async def test_both_clients_offer_the_same(api_url: str, client: Client, collection: str) -> None:
    async with AsyncClient(api_url) as other:
        job = await other.jobs.ingest("Tides", "High water at noon.", collection=collection)
        assert (await other.jobs.get(job.id, wait=30)).state == "succeeded"
        assert await other.jobs.list(collection=collection) == client.jobs.list(
            collection=collection, kind="ingest", state="succeeded"
        )
        for change in (other.jobs.cancel, other.jobs.retry):
            with pytest.raises(ApiError) as caught:
                await change(job.id)
            assert caught.value.status == 409
