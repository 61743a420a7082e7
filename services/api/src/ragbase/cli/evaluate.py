"""``ragbase eval``: how good is retrieval here?"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragbase.cli.errors import EXIT_FAILED, exits
from ragbase.cli.options import DEFAULT_URL, ApiKey, AsJson, Url, json_object
from ragbase.cli.summary import Summary, evaluation_summary, write_summary

if TYPE_CHECKING:
    from rich.progress import TaskID

    from ragbase.evaluation.session import Evaluation, Plan

__all__ = ["evaluate"]

TIMEOUT_S = 900.0
RETRIES = 120


class SplitName(StrEnum):
    """Which lines of queries.jsonl to ask, counted from 0."""

    all = "all"
    even = "even"
    odd = "odd"


@exits
def evaluate(
    dataset: Annotated[
        str,
        typer.Argument(
            metavar="DATASET",
            help="`builtin`, or a folder with corpus.jsonl, queries.jsonl and qrels.tsv.",
            show_default=False,
        ),
    ],
    url: Url = DEFAULT_URL,
    api_key: ApiKey = None,
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="Use (or make) this collection and leave it be."),
    ] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Do not delete the scratch collection.")
    ] = False,
    fusion: Annotated[
        str | None, typer.Option("--fusion", help="Fusion of the hybrid mode.", metavar="JSON")
    ] = None,
    split: Annotated[
        SplitName, typer.Option("--split", help="Queries by parity of their line, from 0.")
    ] = SplitName.all,
    language: Annotated[
        str | None, typer.Option("--language", help="Language of the scratch collection.")
    ] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, max=64, help="Documents sent at the same time.")
    ] = 4,
    concurrency: Annotated[
        int, typer.Option("--concurrency", min=1, max=64, help="Queries asked at the same time.")
    ] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the JSON report to this file too.")
    ] = None,
    as_json: AsJson = False,
    summary_file: Summary = None,
) -> None:
    """Measure quality on a judged dataset, mode by mode.

    Ingests the corpus, asks the queries and scores the answers. All goes through HTTP, as your application would. Keyword, semantic and hybrid search are
    compared without reranker and graph; where the server has a reranker, hybrid with it joins, and
    where it builds an entity graph, the graph arm alone and hybrid with it (after the graph is there).
    A document counts at the rank of its best chunk among 50. The corpus goes into a scratch
    collection that is deleted afterwards. Measures are those of ir-measures; All@10 is the share
    of queries with every relevant document in the first ten. Latency is seen from here.

    [bold]Examples[/bold]

      ragbase eval builtin
      ragbase eval data/cranfield --split odd --json > report.json
      ragbase eval builtin --fusion '{"method": "rrf", "k": 20}'
      ragbase eval data/cranfield --collection cranfield     # ingest once, evaluate often
    """
    import asyncio

    from ragbase.cli.console import print_json
    from ragbase.evaluation.builtin import open_dataset
    from ragbase.evaluation.report import evaluation_json
    from ragbase.evaluation.session import Plan

    plan = Plan(
        dataset=open_dataset(dataset),
        split=split.value,
        collection=collection,
        keep=keep,
        language=language,
        fusion=json_object(fusion, "--fusion"),
        jobs=jobs,
        concurrency=concurrency,
    )
    evaluation = asyncio.run(_evaluate(url, api_key, plan))
    report = evaluation_json(evaluation)
    if out is not None:
        out.write_text(json.dumps(report, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    write_summary(summary_file, evaluation_summary(report))
    if as_json:
        print_json(report)
    else:
        _show(evaluation)
    if evaluation.failed:
        raise typer.Exit(EXIT_FAILED)


async def _evaluate(url: str, api_key: str | None, plan: Plan) -> Evaluation:
    from ragbase.cli.console import progress_bars
    from ragbase.evaluation.session import evaluate as run
    from ragbase.sdk import AsyncClient

    with progress_bars() as bars:
        tasks: dict[str, TaskID] = {}

        def show(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            bars.update(tasks[step], completed=done)

        async with AsyncClient(url, api_key, timeout=TIMEOUT_S, retries=RETRIES) as client:
            return await run(client, plan, show)


def _show(evaluation: Evaluation) -> None:
    from ragbase.cli.console import stdout
    from ragbase.cli.tables import show_evaluation

    show_evaluation(stdout(), evaluation)
