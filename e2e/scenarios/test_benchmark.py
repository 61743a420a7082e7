"""A benchmark of a RagBase, and where its result is to be read."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.scenarios.caller import Caller
from e2e.scenarios.kube import Kube, wait_for
from e2e.scenarios.operator import Release
from e2e.scenarios.stack import task, wait_gone
from e2e.scenarios.test_backup import complete


@pytest.fixture
def benchmark(kube: Kube, namespace: str) -> Iterator[str]:
    """The name of a RagBaseBenchmark that is gone afterwards, Jobs and all."""
    yield "first"
    kube.delete("RagBaseBenchmark", "first", namespace)
    wait_gone(kube, "RagBaseBenchmark", "first", namespace)


def test_a_benchmark_lands_in_status_and_metrics(
    caller: Caller, operator: Release, kube: Kube, namespace: str, docs: str, benchmark: str
) -> None:
    before = collections(caller)
    spec = {"ragbase": docs, "requests": 20, "concurrency": [1], "modes": ["hybrid", "keyword"]}
    kube.apply(task("RagBaseBenchmark", benchmark, namespace, **spec))
    status = complete(kube, "RagBaseBenchmark", benchmark, namespace)
    # `floor` is the way itself: a route that does nothing.
    assert {row["mode"] for row in status["latency"]} == {"floor", "hybrid", "keyword"}
    assert all(0 < row["p50Ms"] <= row["p99Ms"] for row in status["latency"])
    quality = {row["mode"]: row["ndcg10"] for row in status["quality"]}
    assert set(quality) == {"hybrid", "keyword", "semantic"}
    assert min(quality.values()) > 0.5
    assert status["errors"] == 0

    def told() -> bool:
        (pod,) = operator.pods()
        metrics = kube.proxied(pod["metadata"]["name"], namespace, 9090, "metrics")
        named = f'namespace="{namespace}"'
        lines = [line for line in metrics.splitlines() if named in line]
        return all(
            any(line.startswith(name) for line in lines)
            for name in ("ragbase_benchmark_seconds{", "ragbase_benchmark_quality{")
        )

    wait_for(told, 60, lambda: "the operator's metrics lack the benchmark")
    assert collections(caller) == before


def collections(caller: Caller) -> list[str]:
    """Names of all collections; the benchmark has one of its own while it runs."""
    answer = caller.call("GET", "/v1/collections")
    assert answer.status == 200
    names = [each["name"] for each in answer.body]
    assert "default" in names
    return names
