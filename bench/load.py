"""Many users at once: what concurrent searches cost, and what writers cost the searchers.

Method. An embedded Postgres is filled with 10,000 resampled chunks (`bench.corpus`); the API runs
as a process of its own, its clients in this one (plain keep-alive connections, a thread each).

1. **Stages.** CPU seconds (this process, the API, Postgres) of the bare stages of a hybrid search:
   embedding in this process, both arms' SQL at the API's depth on one connection, and the route
   that does nothing (``GET /health/live``, client included).
2. **Throughput.** Eight clients search without pause. Bar: at least 0.6 × cores ÷ CPU of the
   stages. Each answer's time is divided by the median time of the same query asked alone, before
   and after (the machine's speed drifts); p95 ≤ 8.
3. **Mixed.** Eight searchers alone give the solo p95; then 32 writers post documents of 20 to
   2,000 words beside them. Bars: no status but 2xx and 429; searchers' p95 ≤ 5 × solo p95 + one
   ingest batch (one run of the model on BATCH_TOKENS tokens, timed alone); no wait for a
   connection beyond 2 s.

Usage: python -m bench.load [--minutes 5] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from http.client import HTTPConnection, HTTPException
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np
from prometheus_client.parser import text_string_to_metric_families

from bench.corpus import needed_evaldata, read_sources
from bench.latency import SETTINGS, fill, read_queries
from bench.report import Bar, state_folder, write_report
from bench.server import cpu_seconds, rss_mb, start_api
from ragbase.clients.embedder import Embedder
from ragbase.clients.select import open_embedder
from ragbase.embedded import EmbeddedPostgres
from ragbase.limits import ARM_DEPTH_DEFAULT
from ragbase.retrieval.lexical import open_dialect
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.settings import Settings
from ragbase.storage.migrations import migrate
from ragbase.storage.pool import Database
from ragbase.text.analyse import analyser
from ragbase_inference.embedder import BATCH_TOKENS

CHUNKS = 10_000
SEARCHERS = 8
WRITERS = 32
CORES = len(os.sched_getaffinity(0))
PAUSE_S = 0.05
"""A refused writer waits this long, as one does who heeds Retry-After only in spirit."""


class Client:
    """One keep-alive connection. ``search`` and ``post`` give status and seconds."""

    def __init__(self, url: str) -> None:
        address = urlsplit(url)
        self._http = HTTPConnection(address.hostname or "", address.port, timeout=120)

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, float]:
        started = time.perf_counter()
        text = None if body is None else json.dumps(body)
        self._http.request(method, path, text, {"content-type": "application/json"})
        answer = self._http.getresponse()
        answer.read()
        return answer.status, time.perf_counter() - started

    def search(self, query: str) -> tuple[int, float]:
        body = {"query": query, "rerank": False, "include_graph": False}
        return self.send("POST", "/v1/search", body)

    def close(self) -> None:
        self._http.close()


def run_threads(count: int, work: Callable[[int], None]) -> None:
    """``work(0)`` … ``work(count - 1)`` at the same time; the first error is raised."""
    errors: list[BaseException] = []

    def guarded(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def searchers(url: str, queries: list[str], seconds: float) -> list[tuple[str, int, float]]:
    """Eight clients for ``seconds``: query, status and time of every search."""
    found: list[tuple[str, int, float]] = []
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        client = Client(url)
        at = number * len(queries) // SEARCHERS
        while time.monotonic() < end:
            query = queries[at % len(queries)]
            found.append((query, *client.search(query)))
            at += 1
        client.close()

    run_threads(SEARCHERS, work)
    return found


def writers(url: str, texts: list[str], seconds: float) -> Counter[int]:
    """Writers for ``seconds``; answers by status."""
    statuses: Counter[int] = Counter()
    end = time.monotonic() + seconds

    def work(number: int) -> None:
        random = np.random.default_rng(number)
        client = Client(url)
        count = 0
        while time.monotonic() < end:
            words = " ".join(random.choice(texts, size=20)).split()
            size = int(random.integers(20, 2000))
            body = {
                "title": f"Note {number}-{count}",
                "content": " ".join((words * (size // len(words) + 1))[:size]),
                "external_id": f"{number}-{count % 50}",
            }
            try:
                status, _ = client.send("POST", "/v1/documents", body)
            except (HTTPException, OSError) as error:
                status = -1
                print(f"writer {number}: {error!r}", file=sys.stderr)
                client.close()
            statuses[status] += 1
            count += 1
            if status == 429:
                time.sleep(PAUSE_S)
        client.close()

    run_threads(WRITERS, work)
    return statuses


async def stages(dsn: str, queries: list[str], embedder: Embedder, postgres: int) -> float:
    """CPU seconds a hybrid search costs without the API: this process and Postgres."""
    info = await embedder.info()
    index = SemanticIndex(1, info.dimension, Settings().ef_search)
    async with (
        await Database.open(dsn, min_size=1, ef_search=Settings().ef_search) as database,
        database.acquire() as connection,
    ):
        dialect = await open_dialect(connection, "native")

        async def once(query: str) -> None:
            vector, _ = await embedder.embed_query(query)
            terms = analyser("english").query_terms(query)
            await dialect.search(connection, terms, [1], depth=ARM_DEPTH_DEFAULT)
            await index.search(connection, vector, [1], depth=ARM_DEPTH_DEFAULT, min_score=0.0)

        for query in queries:
            await once(query)
        before = time.process_time() + cpu_seconds(postgres)
        for query in queries * 3:
            await once(query)
        spent = time.process_time() + cpu_seconds(postgres) - before
    return spent / (3 * len(queries))


def noop_cpu(url: str, api: int) -> float:
    """CPU seconds of a request that does nothing, client and server."""
    client = Client(url)
    for _ in range(200):
        client.send("GET", "/health/live")
    before = time.process_time() + cpu_seconds(api)
    for _ in range(2000):
        client.send("GET", "/health/live")
    spent = time.process_time() + cpu_seconds(api) - before
    client.close()
    return spent / 2000


def alone(url: str, queries: list[str]) -> dict[str, list[float]]:
    """Seconds of each query asked by one client, five times."""
    client = Client(url)
    times: dict[str, list[float]] = {query: [] for query in queries}
    for number in range(6):
        for query in queries:
            status, seconds = client.search(query)
            if status != 200:
                raise RuntimeError(f"search answered {status}")
            if number:
                times[query].append(seconds)
    client.close()
    return times


async def one_batch(embedder: Embedder, texts: list[str]) -> float:
    """Seconds of one ingest batch: as many tokens as the model takes at a time."""
    words = " ".join(texts).split()
    size = BATCH_TOKENS // 8 * 3 // 4
    batch = [" ".join(words[start * size : (start + 1) * size]) for start in range(8)]
    limit = (await embedder.info()).passage_tokens
    batch = [" ".join(text.split()[: limit * 3 // 4]) for text in batch]
    times = []
    for _ in range(5):
        started = time.perf_counter()
        await embedder.embed_passages(batch)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def pool_waits(url: str) -> tuple[float, float]:
    """All waits for a connection so far, and how many of them were beyond 2 s."""
    text = httpx.get(f"{url}/metrics").text
    buckets = {
        sample.labels["le"]: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == "ragbase_db_pool_wait_seconds_bucket"
    }
    return buckets["+Inf"], buckets["+Inf"] - buckets["2.0"]


def p95(values: list[float]) -> float:
    return float(np.percentile(values, 95))


def measure(
    url: str, api: int, dsn: str, postgres: int, folder: Path, minutes: float
) -> tuple[dict[str, Any], list[Bar]]:
    """Everything, in order; the embedder of this process is closed before the load begins."""
    queries = read_queries(folder, 64)
    texts = [source.text for source in read_sources(folder)[:2000]]

    async def bare() -> tuple[float, float]:
        embedder = await open_embedder(Settings())
        stage_cpu = await stages(dsn, queries, embedder, postgres)
        batch_s = await one_batch(embedder, texts)
        await embedder.aclose()
        return stage_cpu, batch_s

    stage_cpu, batch_s = asyncio.run(bare())
    route_cpu = noop_cpu(url, api)
    before = alone(url, queries)
    started = time.perf_counter()
    loaded = searchers(url, queries, 30)
    rate = len(loaded) / (time.perf_counter() - started)
    after = alone(url, queries)
    solo = {query: statistics.median(before[query] + after[query]) for query in queries}
    ratios = [seconds / solo[query] for query, _, seconds in loaded]
    solo_p95 = p95([seconds for _, _, seconds in loaded])
    statuses: Counter[int] = Counter()
    mixed: list[tuple[str, int, float]] = []

    def both(number: int) -> None:
        if number:
            statuses.update(writers(url, texts, minutes * 60))
        else:
            mixed.extend(searchers(url, queries, minutes * 60))

    run_threads(2, both)
    search_statuses = Counter(status for _, status, _ in mixed)
    waits, long_waits = pool_waits(url)
    bad = sum(
        count
        for status, count in (statuses + search_statuses).items()
        if status not in (200, 201, 429)
    )
    mixed_p95 = p95([seconds for _, status, seconds in mixed if status == 200])
    possible = CORES / (stage_cpu + route_cpu)
    bars = [
        Bar("throughput / possible", rate / possible, 0.6, at_least=True),
        Bar("p95 of latency / the query's own", p95(ratios), 8),
        Bar("answers other than 2xx and 429", bad, 0),
        Bar("searchers' p95 in the mix, s", mixed_p95, 5 * solo_p95 + batch_s),
        Bar("waits for a connection beyond 2 s", long_waits, 0),
    ]
    report = {
        "cores": CORES,
        "stage_cpu_ms": stage_cpu * 1000,
        "route_cpu_ms": route_cpu * 1000,
        "searches_per_s": rate,
        "possible_per_s": possible,
        "solo_p50_ms": statistics.median(solo.values()) * 1000,
        "solo_p50_before_ms": statistics.median(chain(*before.values())) * 1000,
        "solo_p50_after_ms": statistics.median(chain(*after.values())) * 1000,
        "eight_p95_ms": solo_p95 * 1000,
        "batch_ms": batch_s * 1000,
        "batch_tokens": BATCH_TOKENS,
        "mixed_p95_ms": mixed_p95 * 1000,
        "mixed_minutes": minutes,
        "writers": {str(status): count for status, count in statuses.items()},
        "searchers": {str(status): count for status, count in search_statuses.items()},
        "pool_waits": waits,
        "api_rss_mb": rss_mb(api),
    }
    return report, bars


def as_markdown(report: dict[str, Any], bars: list[Bar]) -> str:
    """Both as tables."""
    lines = ["# Load", "", "| bar | value | limit | |", "|---|---|---|---|"]
    for bar in bars:
        sign = "≥" if bar.at_least else "≤"
        lines.append(
            f"| {bar.name} | {bar.value:.3f} | {sign} {bar.limit:.3f} | "
            f"{'met' if bar.met else 'MISSED'} |"
        )
    lines += ["", "| figure | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in report.items() if name != "bars"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=5.0, help="length of the mixed load")
    parser.add_argument("--state", type=Path, help="keep the filled database here for next time")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    folder = needed_evaldata()
    state = arguments.state
    filled = state is not None and (state / f"pg{CHUNKS}").exists()
    with (
        nullcontext(state) if state else state_folder() as place,
        EmbeddedPostgres(place / f"pg{CHUNKS}", settings=SETTINGS) as server,
    ):
        if filled:
            asyncio.run(migrate(server.dsn, dialect="native"))
        else:
            asyncio.run(_fill(server.dsn, folder))
        postmaster = int((server.data_dir / "postmaster.pid").read_text().split()[0])
        api, url = start_api({"DATABASE_URL": server.dsn})
        try:
            report, bars = measure(url, api.pid, server.dsn, postmaster, folder, arguments.minutes)
        finally:
            api.terminate()
            api.wait(60)
    text = as_markdown(report, bars)
    print(text)
    if arguments.out:
        write_report(arguments.out / "load", report, bars, text)
    return 0 if all(bar.met for bar in bars) else 1


async def _fill(dsn: str, folder: Path) -> None:
    embedder = await open_embedder(Settings())
    await fill(dsn, CHUNKS, embedder, folder)
    await embedder.aclose()


if __name__ == "__main__":
    sys.exit(main())
