"""A search answer for people."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ragbase.cli.console import printable
from ragbase.models.search import Highlight, SearchResponse, SearchRow, Timings

__all__ = ["excerpt", "render_answer"]

EXCERPT_CHARS = 320
LEAD_CHARS = 60
"""Text kept before the first match, so that it is read in its sentence."""
ARM_STYLES = {"semantic": "magenta", "keyword": "blue", "graph": "yellow"}


def render_answer(console: Console, answer: SearchResponse, mode: str) -> None:
    """Rows with rank, score, arms and an excerpt; below them what ran and how long it took."""
    for warning in answer.warnings:
        console.print(Text(f"! {printable(warning.message)} ({warning.code})", style="yellow"))
    for rank, row in enumerate(answer.results, start=1):
        console.print(_head(rank, row, answer.score_kind))
        console.print(Padding(excerpt(row.content, row.highlights), (0, 4, 0, 4)))
        if row.explain:
            console.print(Padding(_explained(row), (0, 0, 0, 4)))
        console.print()
    console.print(_foot(answer, mode))


def excerpt(content: str, highlights: Sequence[Highlight]) -> Text:
    """The part of a chunk around its first match, on few lines, matches in bold."""
    first = highlights[0].start if highlights and len(content) > EXCERPT_CHARS else 0
    start = 0 if first <= LEAD_CHARS else _word_start(content, first - LEAD_CHARS)
    end = _word_end(content, start + EXCERPT_CHARS)
    text = Text(printable(content[start:end]))
    for highlight in highlights:
        text.stylize("bold yellow", max(highlight.start - start, 0), max(highlight.end - start, 0))
    text.rstrip()
    return Text("… " if start else "").append(text).append(" …" if end < len(content) else "")


def _word_start(content: str, position: int) -> int:
    blank = content.find(" ", position, position + LEAD_CHARS // 2)
    return position if blank < 0 else blank + 1


def _word_end(content: str, position: int) -> int:
    if position >= len(content):
        return len(content)
    blank = content.rfind(" ", position - LEAD_CHARS // 2, position)
    return position if blank < 0 else blank


def _head(rank: int, row: SearchRow, kind: str) -> Text:
    head = Text(f"{rank:>2}  ", style="dim")
    head.append(printable(row.document_title), style="bold cyan")
    head.append(f"  {row.score:.4g}", style="green").append(f" {kind}", style="dim")
    for arm in row.sources:
        head.append(f"  {arm}", style=ARM_STYLES[arm])
    name = row.external_id or f"document {row.document_id}"
    return head.append(f"\n    {printable(name)} · chunk {row.chunk_index}", style="dim")


def _explained(row: SearchRow) -> Text:
    places = (row.explain or {}).items()
    return Text(
        "   ".join(f"{part} #{place.rank} ({place.score:.4g})" for part, place in places),
        style="italic dim",
    )


def _foot(answer: SearchResponse, mode: str) -> Text:
    count = (
        f"{answer.total} {'row' if answer.total == 1 else 'rows'}" if answer.total else "No rows"
    )
    foot = Text(count, style="bold" if answer.total else "yellow")
    used = ", ".join(
        f"rerank by {answer.reranker_used}" if name == "rerank" else name
        for name in answer.retrievers_used
    )
    used = used or "nothing found"
    foot.append(f" · {mode} ({used}) · {answer.timings_ms.total:.1f} ms", style="dim")
    stages = _stages(answer.timings_ms)
    return foot.append(f" ({stages})", style="dim") if stages else foot


def _stages(timings: Timings) -> str:
    spent = timings.model_dump(exclude={"total"})
    return ", ".join(f"{stage} {value:.1f}" for stage, value in spent.items() if value)
