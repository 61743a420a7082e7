"""Figures of evaluations and load runs as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragbase.cli.console import new_table
from ragbase.evaluation.dataset import Split
from ragbase.evaluation.load import LoadResult
from ragbase.evaluation.measures import MEASURES
from ragbase.evaluation.quality import ModeResult
from ragbase.evaluation.session import Evaluation, ModeDifference

__all__ = ["show_evaluation", "show_load"]

FAMILY_MEASURE = "nDCG@10"
TITLES: Mapping[Split, str] = {
    "all": "All queries",
    "even": "Even lines of queries.jsonl",
    "odd": "Odd lines of queries.jsonl",
}


def show_evaluation(console: Console, evaluation: Evaluation) -> None:
    """Facts, one table a split (`all` and `even`, or the one asked for), families, headings."""
    _show_facts(console, evaluation)
    splits = evaluation.modes[0].splits
    shown: tuple[Split, ...] = ("all", "even") if "all" in splits else tuple(splits)
    for split in shown:
        console.print(_measures_table(evaluation.modes, split))
    first = shown[0]
    if differences := evaluation.differences():
        console.print(_differences_table(differences))
    if splits[first].families:
        console.print(_families_table(evaluation.modes, first))
    if evaluation.ablation:
        console.print(_ablation_table(evaluation, first))
    _show_faults(console, evaluation)


def show_load(console: Console, results: Sequence[LoadResult]) -> None:
    """One row a mode and number of callers; stage times at the median."""
    ran = (name for result in results for name, time in result.stages.items() if time.p99)
    stages = list(dict.fromkeys(ran))
    table = new_table("Latency in ms, seen from the client; stages are the server's p50")
    for name in ("mode", "callers", "p50", "p95", "p99", "QPS", "failed"):
        table.add_column(name, justify="left" if name == "mode" else "right")
    for stage in stages:
        table.add_column(stage, justify="right", style="dim")
    for result in results:
        latency = result.latency
        table.add_row(
            result.mode,
            str(result.concurrency),
            *(f"{value:.1f}" for value in (latency.p50, latency.p95, latency.p99)),
            f"{result.qps:.1f}",
            Text(str(result.failed), style="red" if result.failed else "dim"),
            *(_stage(result, stage) for stage in stages),
        )
    console.print(table)


def _show_facts(console: Console, evaluation: Evaluation) -> None:
    dataset, server = evaluation.plan.dataset, evaluation.server
    skipped = f", {dataset.blank_documents} blank skipped" if dataset.blank_documents else ""
    unjudged = f", {dataset.unjudged_queries} unjudged" if dataset.unjudged_queries else ""
    reranker = server.reranker or "none"
    console.print(
        f"[bold]{dataset.name}[/bold]  {len(dataset.documents):,} documents{skipped}, "
        f"{evaluation.ingest.chunks:,} chunks, {len(dataset.queries):,} judged queries{unjudged}"
        f"\n[dim]RagBase {server.version} · keywords {server.lexical} · model "
        f"{server.embedding_model or 'none'} · reranker {reranker} · "
        f"ingest {evaluation.ingest_seconds:.1f} s[/dim]",
        soft_wrap=True,
    )


def _measures_table(modes: Sequence[ModeResult], split: Split) -> Table:
    table = new_table(f"{TITLES[split]} ({modes[0].splits[split].queries:,}); latency in ms")
    table.add_column("mode")
    for name in (*MEASURES, "p50", "p95"):
        table.add_column(name, justify="right")
    best = {name: max(mode.splits[split].measures[name] for mode in modes) for name in MEASURES}
    for mode in modes:
        measures = mode.splits[split].measures
        table.add_row(
            mode.name,
            *(_score(measures[name], best=measures[name] == best[name]) for name in MEASURES),
            f"{mode.latency.p50:.1f}",
            f"{mode.latency.p95:.1f}",
        )
    return table


def _differences_table(differences: Sequence[ModeDifference]) -> Table:
    splits = tuple(differences[0].splits)
    table = new_table(f"{FAMILY_MEASURE} against hybrid, with paired bootstrap intervals of 95 %")
    table.add_column("mode")
    for split in splits:
        table.add_column(split, justify="right")
    for one in differences:
        cells = (one.splits[split] for split in splits)
        table.add_row(
            one.mode, *(f"{each.mean:+.4f} [{each.low:+.4f}, {each.high:+.4f}]" for each in cells)
        )
    return table


def _families_table(modes: Sequence[ModeResult], split: Split) -> Table:
    families = modes[0].splits[split].families
    table = new_table(f"{FAMILY_MEASURE} by family")
    table.add_column("family")
    table.add_column("queries", justify="right", style="dim")
    for mode in modes:
        table.add_column(mode.name, justify="right")
    for family, result in families.items():
        scores = [mode.splits[split].families[family].measures[FAMILY_MEASURE] for mode in modes]
        cells = [_score(score, best=score == max(scores)) for score in scores]
        table.add_row(family, str(result.queries), *cells)
    return table


def _ablation_table(evaluation: Evaluation, split: Split) -> Table:
    table = new_table("What headings are worth: header-path queries without heading lines")
    table.add_column("mode")
    for name in ("with", "without", "difference"):
        table.add_column(f"{name}", justify="right")
    for mode in evaluation.modes:
        if mode.name not in evaluation.ablation:  # the graph is built of the whole documents alone
            continue
        bare = evaluation.ablation[mode.name].splits[split].measures[FAMILY_MEASURE]
        whole = mode.splits[split].families["header-path"].measures[FAMILY_MEASURE]
        style = "green" if whole > bare else "red" if whole < bare else "dim"
        table.add_row(
            mode.name, f"{whole:.3f}", f"{bare:.3f}", Text(f"{whole - bare:+.3f}", style=style)
        )
    return table


def _show_faults(console: Console, evaluation: Evaluation) -> None:
    for failure in evaluation.ingest.failures[:10]:
        console.print(Text(f"✗ not stored: {failure.name}  {failure.reason}", style="red"))
    for mode in (*evaluation.modes, *evaluation.ablation.values()):
        if mode.failures:
            reasons = ", ".join(sorted(set(mode.failures.values())))
            text = f"✗ {mode.name}: {len(mode.failures)} queries failed ({reasons})"
            console.print(Text(text, style="red"), soft_wrap=True)
        if mode.degraded:
            text = f"! {mode.name}: {mode.degraded} answers were degraded"
            console.print(Text(text, style="yellow"))


def _score(value: float, *, best: bool) -> Text:
    return Text(f"{value:.3f}", style="bold green" if best and value else "")


def _stage(result: LoadResult, stage: str) -> str:
    time = result.stages.get(stage)
    return f"{time.p50:.1f}" if time is not None and time.p99 else ""
