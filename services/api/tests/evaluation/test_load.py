"""Load runs against a server that fails on purpose, and their reports."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.responses import JSONResponse
from prometheus_client.parser import text_string_to_metric_families
from typer.testing import CliRunner

from ragbase.cli.app import app as cli
from ragbase.evaluation.latency import Latency
from ragbase.evaluation.load import FLOOR, LoadResult, load_modes, run_load
from ragbase.evaluation.report import load_json, load_prometheus

PAUSE_S = 0.02


class Stub:
    """Answers searches after a pause; every third one fails at once, which would look fast."""

    def __init__(self, *, failing: bool) -> None:
        self.app = FastAPI()
        self.queries: list[str] = []
        self.inflight = self.most = 0
        turns = itertools.count(1)

        @self.app.get("/health/live")
        async def live() -> dict[str, str]:
            return {"status": "ok"}

        @self.app.get("/v1/collections/c")
        async def collection() -> dict[str, Any]:
            return {
                "name": "c",
                "created_at": "2026-01-01T00:00:00Z",
                "documents": 1,
                "chunks": 1,
            }

        @self.app.post("/v1/search/keyword")
        async def search(body: dict[str, Any]) -> JSONResponse:
            if failing and next(turns) % 3 == 0:
                return JSONResponse({"detail": "down", "code": "unavailable"}, 503)
            self.queries.append(body["query"])
            self.inflight += 1
            self.most = max(self.most, self.inflight)
            await asyncio.sleep(PAUSE_S)
            self.inflight -= 1
            return JSONResponse({"degraded": True, "timings_ms": {"lexical": 2.0, "total": 3.0}})


@pytest.fixture
def failing(serve: Callable[[FastAPI], str]) -> str:
    return serve(Stub(failing=True).app)


async def test_failed_calls_are_counted_and_have_no_part_in_latency(failing: str) -> None:
    """R51: the original let failed calls enter the latency as 0 ms."""
    (_, mode) = load_modes(["one", "two"], ["keyword"], {"top_k": 3})
    result = await run_load(failing, None, mode, concurrency=1, requests=30, warmup=0)
    assert result.failures == {"unavailable": 10}
    assert result.failed == 10
    assert result.latency.calls == 20
    assert result.degraded == 20
    assert result.latency.p50 >= PAUSE_S * 1000
    assert result.stages["lexical"] == Latency(20, 2.0, 2.0, 2.0, 2.0)


def test_failures_decide_the_exit_code(failing: str, serve: Callable[[FastAPI], str]) -> None:
    """R51: the original ended with 0 whatever had failed."""
    arguments = ["bench", "--collection", "c", "--mode", "keyword", "--concurrency", "2", "-n", "9"]
    bad = CliRunner().invoke(cli, [*arguments, "--url", failing, "--format", "json"])
    assert bad.exit_code == 1
    assert json.loads(bad.stdout)["failed"] == 3
    good_url = serve(Stub(failing=False).app)
    good = CliRunner().invoke(cli, [*arguments, "--url", good_url, "--format", "json"])
    assert good.exit_code == 0, good.output
    runs = json.loads(good.stdout)["runs"]
    assert [run["mode"] for run in runs] == [FLOOR, "keyword"]
    assert runs[1]["latency_ms"]["calls"] == 9


async def test_callers_work_side_by_side_and_take_the_queries_in_turn(
    serve: Callable[[FastAPI], str],
) -> None:
    stub = Stub(failing=False)
    url = serve(stub.app)
    (_, mode) = load_modes(["a", "b", "c"], ["keyword"], {})
    result = await run_load(url, None, mode, concurrency=4, requests=12, warmup=4)
    assert stub.most == 4
    assert result.latency.calls == 12
    assert sorted(stub.queries[4:]) == ["a"] * 4 + ["b"] * 4 + ["c"] * 4


async def test_a_server_that_is_not_there_is_counted_too() -> None:
    (floor, _) = load_modes(["a"], ["keyword"], {})
    result = await run_load("http://127.0.0.1:1", None, floor, concurrency=1, requests=2, warmup=0)
    assert result.failures == {"ConnectError": 2}
    assert result.latency.calls == 0
    assert result.qps == 0


RESULT = LoadResult(
    mode="hybrid",
    concurrency=8,
    latency=Latency(10, 5.0, 4.0, 9.0, 10.0),
    qps=123.456,
    stages={"embed": Latency(10, 1.0, 1.0, 2.0, 2.0)},
    failures={"timeout": 2},
    degraded=1,
)


def test_prometheus_text_can_be_read_back() -> None:
    samples = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(load_prometheus([RESULT]))
        for sample in family.samples
    }
    where = (("concurrency", "8"), ("mode", "hybrid"))
    assert samples[("ragbase_benchmark_seconds", (*where, ("quantile", "0.95")))] == 0.009
    stage = (*where, ("quantile", "0.5"), ("stage", "embed"))
    assert samples[("ragbase_benchmark_stage_seconds", stage)] == 0.001
    assert samples[("ragbase_benchmark_failed_calls", where)] == 2
    assert samples[("ragbase_benchmark_queries_per_second", where)] == pytest.approx(123.456)


def test_json_has_the_facts_and_the_failures() -> None:
    report = load_json([RESULT], dataset="builtin")
    assert report["dataset"] == "builtin"
    assert report["failed"] == 2
    assert report["runs"][0]["latency_ms"]["p99"] == 10.0
    assert report["runs"][0]["stages_ms"]["embed"]["p50"] == 1.0
