"""The API with a language model that writes context lines, for tests to break and mend."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg

from ..eventually import eventually
from ..llm_server import Talker, talking

if TYPE_CHECKING:
    from .conftest import World

__all__ = ["CLEAN", "PARAGRAPHS", "SETTINGS", "TEXT", "Told", "line"]

PARAGRAPHS = 6
TEXT = "\n\n".join(
    f"# Part {number}\n\nHe came to the quay number {number} and left by sea with plain cargo."
    for number in range(PARAGRAPHS)
)
SETTINGS = {
    "chunk_size": 20,
    "chunk_overlap": 0,
    "workers": 1,
    "llm_contextual_timeout_s": 3.0,
    "llm_contextual_budget_s": 6.0,
    "llm_contextual_line_tokens": 12,
}

CLEAN = (
    "DELETE FROM documents WHERE external_id IS DISTINCT FROM 'a'",
    "DELETE FROM jobs",
    "DELETE FROM extractions",
)
"""What the test before has left in the module's database."""


def line(system: str, prompt: str) -> str:
    """Names what only the document as a whole tells: the captain."""
    number = prompt.rpartition("quay number ")[2][:1]
    return f"Captain Zephyrine, part {number}."


@dataclass
class Told:
    """The API, and the language model it asks."""

    world: World
    talker: Talker
    serving: ExitStack

    def stop(self) -> None:
        self.serving.close()

    def start(self) -> None:
        self.serving.enter_context(talking(self.talker, int(self.talker.url.rsplit(":", 1)[1])))

    async def post(self, status: int = 201, **fields: Any) -> dict[str, Any]:
        body = {"title": "Log", "content": TEXT, "contextual_retrieval": True, **fields}
        answer = await self.world.client.post("/v1/documents", json=body)
        assert answer.status_code == status, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def get(self, path: str) -> dict[str, Any]:
        answer = await self.world.client.get(path)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def found(self, query: str, collection: str = "default") -> list[int]:
        """Documents that a keyword search finds."""
        answer = await self.world.client.post(
            "/v1/search/keyword", json={"query": query, "collection": collection, "top_k": 50}
        )
        assert answer.status_code == 200, answer.text
        return [row["document_id"] for row in answer.json()["results"]]

    async def job(self, job_id: int, *, ended: bool = True) -> dict[str, Any]:
        async def as_wanted() -> bool:
            job = await self.get(f"/v1/jobs/{job_id}")
            return (job["state"] in ("succeeded", "failed")) if ended else job["attempts"] > 0

        await eventually(as_wanted, 30)
        return await self.get(f"/v1/jobs/{job_id}")

    async def rows(self, statement: str, *values: Any) -> list[Any]:
        connection = await asyncpg.connect(self.world.postgres.dsn)
        try:
            return list(await connection.fetch(statement, *values))
        finally:
            await connection.close()
