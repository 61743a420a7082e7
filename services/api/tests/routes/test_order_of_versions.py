"""The version that was accepted last is the one that stays, however long an older one was queued."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .conftest import OpenApp

ASYNC = {"Prefer": "respond-async"}


def version(number: int) -> dict[str, Any]:
    return {"title": "Rules", "content": f"Version {number} of the rules.", "external_id": "rules"}


async def stored(client: httpx.AsyncClient) -> str:
    [document] = (await client.get("/v1/documents")).json()
    return str(document["content"])


async def post(client: httpx.AsyncClient, number: int, *, queued: bool) -> dict[str, Any]:
    headers = ASYNC if queued else {}
    answer = await client.post("/v1/documents", json=version(number), headers=headers)
    assert answer.is_success, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def done(client: httpx.AsyncClient, job: dict[str, Any]) -> dict[str, Any]:
    answer = await client.get(f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=30"})
    found: dict[str, Any] = answer.json()
    assert found["state"] == "succeeded", found
    return found


async def test_a_queued_version_does_not_replace_a_later_one(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0)
    job = await post(client, 1, queued=True)
    await post(client, 2, queued=False)
    await open_app(workers=1)
    ended = await done(client, job)
    assert ended["result"]["outcome"] == "unchanged"
    assert [warning["code"] for warning in ended["result"]["warnings"]] == ["superseded"]
    assert await stored(client) == version(2)["content"]


async def test_a_stored_version_that_was_posted_again_stays(open_app: OpenApp) -> None:
    _, client = await open_app(workers=0)
    first = await post(client, 1, queued=False)
    job = await post(client, 2, queued=True)
    again = await post(client, 1, queued=False)
    assert again["outcome"] == "unchanged"
    assert again["updated_at"] == first["updated_at"]
    await open_app(workers=1)
    await done(client, job)
    assert await stored(client) == version(1)["content"]


@pytest.mark.parametrize("workers", [1, 4])
async def test_queued_versions_end_with_the_last(open_app: OpenApp, workers: int) -> None:
    _, client = await open_app(workers=0)
    await post(client, 0, queued=False)
    jobs = [await post(client, number, queued=True) for number in range(1, 9)]
    await open_app(workers=workers)
    for job in jobs:
        await done(client, job)
    assert await stored(client) == version(8)["content"]
