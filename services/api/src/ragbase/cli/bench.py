"""``ragbase bench``: how fast is search here?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragbase.cli.errors import EXIT_FAILED, exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, Url, json_object
from ragbase.cli.search import SearchMode
from ragbase.cli.summary import Summary, load_summary, write_summary

if TYPE_CHECKING:
    from rich.progress import Progress

    from ragbase.evaluation.load import LoadResult
    from ragbase.evaluation.session import Plan
    from ragbase.sdk import Mode, SearchOptions

__all__ = ["bench"]

TIMEOUT_S = 900.0
RETRIES = 120
WARMUP = 20
"""Calls before the clock starts: connections, caches and plans are then as in use."""


class Format(StrEnum):
    """How to print."""

    table = "table"
    json = "json"
    prometheus = "prometheus"


@exits
def bench(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="[DATASET]", help="Whose queries to send: `builtin` or a dataset's folder."
        ),
    ] = "builtin",
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection",
            "-c",
            help="Search this; left out: the dataset's corpus, ingested first.",
        ),
    ] = None,
    modes: Annotated[
        list[SearchMode] | None,
        typer.Option("--mode", "-m", help="Modes to time; may be repeated. Left out: all."),
    ] = None,
    concurrency: Annotated[
        list[int] | None,
        typer.Option(
            "--concurrency",
            min=1,
            max=256,
            help="Callers at once; may be repeated. Left out: 1, 8.",
        ),
    ] = None,
    requests: Annotated[
        int, typer.Option("--requests", "-n", min=1, help="Timed calls a mode and concurrency.")
    ] = 300,
    top_k: Annotated[
        int, typer.Option("--top-k", "-k", min=1, max=100, help="Rows asked for.")
    ] = 10,
    rerank: Annotated[bool, typer.Option("--rerank", help="Rerank in mode hybrid.")] = False,
    filter_: Annotated[
        str | None, typer.Option("--filter", "-f", help="Metadata filter.", metavar="JSON")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.table,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file (JSON for a table).")
    ] = None,
    summary_file: Summary = None,
) -> None:
    """Measure latency and throughput of search.

    Prints p50, p95, p99, queries per second and the server's stages. Each caller keeps its connection and waits for its answer before it asks again. The row
    `floor` is `GET /health/live` with the same client: what HTTP alone costs here. Calls that
    fail are left out of the times and counted, and the exit code is then 1.

    [bold]Examples[/bold]

      ragbase bench
      ragbase bench --collection wiki --mode hybrid --concurrency 1 --concurrency 16 -n 1000
      ragbase bench --format prometheus --out bench.prom
    """
    import asyncio

    from ragbase.evaluation.builtin import open_dataset
    from ragbase.evaluation.report import load_json
    from ragbase.evaluation.session import Plan

    options: SearchOptions = {"top_k": top_k, "rerank": rerank, "include_graph": False}
    condition = json_object(filter_, "--filter")
    if condition is not None:
        options["filter"] = condition
    data = open_dataset(dataset)
    work = _Work(
        plan=Plan(dataset=data, collection=collection),
        modes=[mode.value for mode in modes or SearchMode],
        options=options,
        callers=concurrency or [1, 8],
        requests=requests,
    )
    results = asyncio.run(_measure(url, api_key, work))
    facts = {"dataset": data.name, "url": url, "requests": requests, "top_k": top_k}
    _print(results, format_, out, facts)
    write_summary(summary_file, load_summary(load_json(results, **facts)))
    if any(result.failed for result in results):
        raise typer.Exit(EXIT_FAILED)


@dataclass(frozen=True, slots=True)
class _Work:
    plan: Plan
    modes: Sequence[Mode]
    options: SearchOptions
    callers: Sequence[int]
    requests: int


async def _measure(url: str, api_key: str | None, work: _Work) -> list[LoadResult]:
    from ragbase.cli.console import progress_bars
    from ragbase.evaluation.session import loaded_collection
    from ragbase.sdk import AsyncClient

    with progress_bars() as bars:
        ingest = bars.add_task("ingest", visible=work.plan.collection is None)

        def show(_: str, done: int, total: int) -> None:
            bars.update(ingest, completed=done, total=total)

        async with AsyncClient(url, api_key, timeout=TIMEOUT_S, retries=RETRIES) as client:
            if work.plan.collection is not None:
                await client.collections.get(work.plan.collection)
                return await _time_all(url, api_key, work, work.plan.collection, bars)
            documents = work.plan.dataset.documents
            async with loaded_collection(client, work.plan, documents, show) as loaded:
                return await _time_all(url, api_key, work, loaded.name, bars)


async def _time_all(
    url: str, api_key: str | None, work: _Work, collection: str, bars: Progress
) -> list[LoadResult]:
    from ragbase.evaluation.load import load_modes, run_load

    queries = [query.text for query in work.plan.dataset.queries]
    results = []
    for mode in load_modes(queries, work.modes, {**work.options, "collection": collection}):
        for callers in work.callers:
            bar = bars.add_task(f"{mode.name} × {callers}", total=work.requests)
            results.append(
                await run_load(
                    url,
                    api_key,
                    mode,
                    concurrency=callers,
                    requests=work.requests,
                    warmup=max(WARMUP, callers),
                    on_call=partial(bars.advance, bar),
                )
            )
    return results


def _print(
    results: list[LoadResult], form: Format, out: Path | None, facts: dict[str, Any]
) -> None:
    from ragbase.cli.console import stdout, write
    from ragbase.cli.tables import show_load
    from ragbase.evaluation.report import load_json, load_prometheus

    if form is Format.table:
        show_load(stdout(), results)
    if form is Format.prometheus:
        text = load_prometheus(results)
    else:
        text = json.dumps(load_json(results, **facts), ensure_ascii=False, indent=2) + "\n"
    if out is not None:
        out.write_text(text, encoding="utf-8")
    elif form is not Format.table:
        write(text)
