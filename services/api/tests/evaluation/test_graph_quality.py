"""The graph arm in an evaluation, over HTTP, with entities by the NER model of the extra `ner`."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import httpx
import pytest

from ragbase.evaluation.dataset import Dataset, JudgedDocument, JudgedQuery, load_dataset
from ragbase.evaluation.session import Evaluation, Plan, evaluate
from ragbase.main import create_app
from ragbase.sdk import AsyncClient
from ragbase.settings import Settings

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("spacy") is None, reason="the extra `ner` is not installed"
)

DATASET = Dataset(
    "film",
    (
        JudgedDocument("song", "Hello Love", "Hello Love is a song by Hank Snow."),
        JudgedDocument("singer", "Hank Snow", "He died in Madison, Tennessee."),
        JudgedDocument("rice", "Rice", "Boil the rice, then add salt."),
    ),
    (JudgedQuery("1", "Where did the singer of Hello Love die?", 0),),
    {"1": {"singer": 1}},
)
BARS = {"musique-mini": 0.015, "anthropic-docs": 0.004, "cranfield": -0.003}
"""Least gain of hybrid search by the graph arm in nDCG@10, of the judged sets by name."""


async def evaluated(database_url: str, dataset: Dataset) -> Evaluation:
    settings = Settings(database_url=database_url, pool_min=0, extraction="ner")  # type: ignore[arg-type]
    app = create_app(settings)
    async with (
        app.router.lifespan_context(app),
        AsyncClient(transport=httpx.ASGITransport(app), url="http://127.0.0.1") as client,
    ):
        return await evaluate(client, Plan(dataset), lambda *_: None)


async def test_the_graph_joins_once_it_is_there(database_url: str) -> None:
    """The evaluation waits for the jobs, then asks the arm alone and hybrid search with it."""
    evaluation = await evaluated(database_url, DATASET)
    assert [mode.name for mode in evaluation.modes][3:] == ["graph", "hybrid+graph"]
    assert evaluation.failed == 0
    graph = evaluation.modes[3].per_query["1"]
    assert graph["R@10"] == 1.0
    (difference,) = evaluation.differences()
    assert (difference.mode, difference.against) == ("hybrid+graph", "hybrid")


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
async def test_the_arm_helps_where_it_should_and_harms_nowhere(
    database_url: str, name: str
) -> None:
    folder = Path(os.environ.get("RAGBASE_EVALDATA", "")) / name
    if not os.environ.get("RAGBASE_EVALDATA") or not folder.is_dir():
        pytest.skip(f"RAGBASE_EVALDATA names no folder with the judged set {name}")
    evaluation = await evaluated(database_url, load_dataset(folder))
    gain = evaluation.differences()[-1].splits["all"]
    assert gain.mean >= BARS[name], gain
    if name == "musique-mini":
        alone = next(mode for mode in evaluation.modes if mode.name == "graph")
        assert alone.splits["all"].measures["R@10"] >= 0.60
        assert alone.splits["all"].measures["nDCG@10"] >= 0.55
