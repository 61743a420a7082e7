"""The API between a Postgres and a model server that the test may break and mend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from ragbase.clients.retry import RetryPolicy
from ragbase.clients.tei import TeiEmbedder
from ragbase.embedded import FAST_SETTINGS, EmbeddedPostgres
from ragbase.main import create_app
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate

from ..eventually import eventually
from ..llm_server import MODEL, Talker, talking
from ..model_server import Stub, running
from .told import CLEAN, SETTINGS, Told, line

DOCUMENT = {"title": "Harbour", "content": "Ships moor at the north quay.", "external_id": "a"}


@pytest.fixture(scope="module")
def postgres(state_dir: Path) -> Iterator[EmbeddedPostgres]:
    """A server of this module's own, to be stopped and started."""
    with EmbeddedPostgres(state_dir / "resilience" / "postgres", settings=FAST_SETTINGS) as server:
        yield server


@dataclass
class World:
    """The API's client, and its two dependencies."""

    client: httpx.AsyncClient
    postgres: EmbeddedPostgres
    model: Stub
    serve_model: Callable[[int], AbstractContextManager[Stub]]
    serving: ExitStack

    def stop_model(self) -> None:
        """Refuse connections from now on."""
        self.serving.close()

    def start_model(self) -> None:
        """Answer again, at the same address."""
        self.serving.enter_context(self.serve_model(int(self.model.url.rsplit(":", 1)[1])))

    async def outcome(self, method: str, path: str, **body: Any) -> tuple[int, str]:
        """Status, and the error's code or the codes of the answer's warnings."""
        answer = await self.client.request(method, path, json=body or None)
        found = answer.json() if isinstance(answer.json(), dict) else {}
        codes = [found[key] for key in ("code",) if key in found]
        codes += [warning["code"] for warning in found.get("warnings", [])]
        return answer.status_code, ",".join(codes)


async def stored(client: httpx.AsyncClient, body: dict[str, Any]) -> None:
    """Before a test begins: budgets that are small for its sake may be too small on a busy machine."""

    async def is_stored() -> bool:
        return (await client.post("/v1/documents", json=body)).is_success

    await eventually(is_stored, 30)


@asynccontextmanager
async def open_world(
    postgres: EmbeddedPostgres, retry: RetryPolicy, timeout_s: float, **settings: Any
) -> AsyncIterator[World]:
    """One document is stored."""
    await migrate(postgres.dsn, dialect="native")
    model = Stub(max_tokens=64, max_batch=8)
    serving = ExitStack()
    serving.enter_context(running(model))
    embedder = TeiEmbedder(model.url, timeout_s=timeout_s, retry=retry)
    app = create_app(Settings(database_url=postgres.dsn, pool_min=0, **settings), embedder=embedder)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    with serving:
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client,
        ):
            world = World(client, postgres, model, lambda port: running(model, port), serving)
            await stored(client, DOCUMENT)
            yield world
    await embedder.aclose()


@pytest_asyncio.fixture
async def world(postgres: EmbeddedPostgres) -> AsyncIterator[World]:
    """Every stage gives up within a second."""
    retry = RetryPolicy(attempts=2, budget_s=0.8, first_wait_s=0.01, longest_wait_s=0.05)
    async with open_world(
        postgres, retry, 0.6, statement_timeout_s=0.3, search_timeout_s=0.5
    ) as world:
        yield world


@pytest_asyncio.fixture
async def told(postgres: EmbeddedPostgres, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Told]:
    """Quick: attempts of jobs follow each other at once, and a probe comes soon."""
    monkeypatch.setattr("ragbase.services.health._EVERY_DOWN_S", 0.05)
    monkeypatch.setattr("ragbase.services.circuit.FIRST_WAIT_S", 0.05)
    monkeypatch.setattr("ragbase.services.circuit.LONGEST_WAIT_S", 0.1)
    monkeypatch.setattr("ragbase.worker.verdict.FIRST_WAIT_S", 0.2)
    monkeypatch.setattr("ragbase.worker.verdict.LONGEST_WAIT_S", 0.5)
    monkeypatch.setattr("ragbase.clients.llm_remote.ATTEMPTS", 2)
    talker = Talker(answer=line)
    with ExitStack() as serving:
        serving.enter_context(talking(talker))
        settings = {**SETTINGS, "llm_base_url": talker.url, "llm_model": MODEL}
        async with open_world(postgres, RetryPolicy(attempts=2), 5.0, **settings) as world:
            told = Told(world, talker, serving)
            for statement in CLEAN:
                await told.rows(statement)
            yield told
