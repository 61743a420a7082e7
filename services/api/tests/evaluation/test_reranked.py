"""An evaluation of a server that has a reranker, over HTTP from end to end."""

from __future__ import annotations

import httpx

from ragbase.evaluation.dataset import Dataset, JudgedDocument, JudgedQuery
from ragbase.evaluation.session import Plan, evaluate
from ragbase.main import create_app
from ragbase.sdk import AsyncClient
from ragbase.settings import Settings

from ..model_server import Stub, running

DATASET = Dataset(
    "harbour",
    (
        JudgedDocument("a", "Mooring", "Ships moor at the north quay."),
        JudgedDocument("b", "Rice", "Boil the rice, then add salt."),
    ),
    (JudgedQuery("1", "where do ships moor", 0), JudgedQuery("2", "how to boil rice", 1)),
    {"1": {"a": 1}, "2": {"b": 1}},
)


async def modes_of(settings: Settings) -> tuple[str | None, list[str], int]:
    """The server's reranker, the modes that were measured, and the failures."""
    app = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=httpx.ASGITransport(app), url="http://127.0.0.1") as client,
    ):
        evaluation = await evaluate(client, Plan(DATASET), lambda *_: None)
    return evaluation.server.reranker, [run.name for run in evaluation.modes], evaluation.failed


async def test_hybrid_with_the_reranker_joins_where_the_server_has_one(database_url: str) -> None:
    stub = Stub(max_batch=32, model_id="acme/ranks", model_type={"reranker": {}})
    with running(stub):
        values = {"database_url": database_url, "pool_min": 0, "reranker_url": stub.url}
        found = await modes_of(Settings(**values))
    assert found == (
        "acme/ranks",
        ["keyword", "semantic", "hybrid", "hybrid+rerank"],
        0,
    )
    assert len(stub.texts("rerank")) == len(DATASET.queries)


async def test_without_one_the_modes_are_those_without(database_url: str) -> None:
    found = await modes_of(Settings(database_url=database_url, pool_min=0))  # type: ignore[arg-type]
    assert found == (None, ["keyword", "semantic", "hybrid"], 0)
