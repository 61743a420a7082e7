"""No pooled connection is held while a model works."""

from __future__ import annotations

import asyncio

from ragbase.clients.retry import RetryPolicy
from ragbase.embedded import EmbeddedPostgres

from .conftest import DOCUMENT, open_world


async def test_a_slow_model_does_not_hold_connections(postgres: EmbeddedPostgres) -> None:
    """B061: fifty calls wait for the model; the only connection is free for everyone else."""
    async with open_world(postgres, RetryPolicy(), 30.0, pool_max=1) as world:
        client, model = world.client, world.model
        model.held = True
        stored = (await client.get("/v1/documents")).json()[0]["id"]
        change = {"metadata": {"year": 1999}}
        waiting = [
            *(
                client.post("/v1/documents", json={**DOCUMENT, "external_id": f"n{n}"})
                for n in range(20)
            ),
            *(client.post("/v1/search", json={"query": f"quay {n}"}) for n in range(20)),
            *(client.post("/v1/search/semantic", json={"query": f"q {n}"}) for n in range(9)),
            client.patch(f"/v1/documents/{stored}", json=change),
        ]
        tasks = [asyncio.create_task(call) for call in waiting]
        while model.in_flight < 8:  # noqa: ASYNC110 - counted in another thread
            await asyncio.sleep(0.01)
        for path in ("/v1/documents", "/health/ready", "/v1/collections"):
            assert (await client.get(path)).status_code == 200
        keyword = await client.post("/v1/search/keyword", json={"query": "quay"})
        assert keyword.json()["total"] > 0
        assert not any(task.done() for task in tasks)
        model.held = False
        answers = await asyncio.gather(*tasks)
        assert {answer.status_code for answer in answers} <= {200, 201}
        assert all(not answer.json().get("degraded") for answer in answers)
