"""Series and memory stay as they are, however much is stored (B099)."""

from __future__ import annotations

import time
from collections import Counter

import httpx

from charts.monitoring.live.observed import Observed

DOCUMENTS = 2000
BATCH = 200
GROWTH_MB = 64.0
"""Of the resident memory: buffers and caches that fill once, no more."""


def test_two_thousand_documents_make_no_series(seen: Observed) -> None:
    """Half of them at once, half as jobs: neither a document nor a job has a series of its own."""
    with httpx.Client(base_url=seen.url, timeout=300) as http:
        for batch in (0, 1):
            _post(http, batch, 1)
        _wait_for_jobs(http)  # each route that is called below has its series now
        before, memory = _settled(seen)
        for batch in range(DOCUMENTS // BATCH):
            _post(http, batch, BATCH)
        _wait_for_jobs(http)
        after, grown = _settled(seen)
    assert after - before == Counter()
    assert before.total() > 300
    for pod, megabytes in grown.items():
        assert megabytes - memory[pod] < GROWTH_MB, pod


def _post(http: httpx.Client, batch: int, size: int) -> None:
    """Every second batch becomes jobs."""
    documents = [
        {"title": f"Berth {batch}-{n}", "content": f"Ship {n} moors at berth {batch}."}
        for n in range(size)
    ]
    headers = {"Prefer": "respond-async"} if batch % 2 else {}
    answer = http.post("/v1/documents/batch", json=documents, headers=headers)
    assert answer.status_code in (200, 202), answer.text
    expected = 202 if batch % 2 else 201
    assert {each["status"] for each in answer.json()["results"]} == {expected}


def _wait_for_jobs(http: httpx.Client) -> None:
    deadline = time.monotonic() + 300
    while http.get("/v1/jobs", params={"state": "queued", "limit": 1}).json():
        assert time.monotonic() < deadline, "the jobs are not done"
        time.sleep(0.5)


def _settled(seen: Observed) -> tuple[Counter[str], dict[str, float]]:
    """Series of API and worker by name, and memory in MB by pod, after another scrape."""
    time.sleep(3)
    ours = seen.prometheus.instant('{__name__=~".+",component=~"api|worker|localrag"}')
    memory = {
        series.labels["pod"]: series.points[0][1] / 1e6
        for series in ours
        if series.labels["__name__"] == "process_resident_memory_bytes"
    }
    return Counter(series.labels["__name__"] for series in ours), memory
