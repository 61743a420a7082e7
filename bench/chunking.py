"""How well the splitter's chunks answer: gold spans of very long texts, against fixed windows.

Method. The set ``chunk-spans`` has five long texts and 472 questions whose answers are character
spans (B. Smith, A. Troynikov: Evaluating Chunking Strategies for Retrieval, 2024). All chunks of all
texts are embedded by the in-process model and ranked for each question by cosine. Of the first k:
recall is the share of the gold characters they cover, precision the share of their characters that
are gold, IoU the intersection over the union; means over the questions. Chunks of different lengths
show different amounts of text at the same k, so recall is also given at an equal budget of
characters: the ranking is cut where it has shown as many as k fixed windows do. Fixed windows are
embedded bare and cut by the model where they are too long; ours carry their header, as in the
product.

Usage: python -m bench.chunking [--k 5] [--window 200] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.corpus import needed_evaldata, read_jsonl
from ragbase.clients.embedder import Embedder
from ragbase.clients.inprocess import open_inprocess
from ragbase.ingest.headers import indexed_content, title_line
from ragbase.ingest.split import SplitRules, split
from ragbase.settings import MINILM

EMBED_PART = 500

Span = tuple[str, int, int]
"""Document id, start, end."""
Splitter = Callable[[str, str], Iterator[tuple[int, int, str]]]
"""From title and text to start, end and the text to embed."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the spans that answer it."""

    text: str
    gold: Sequence[Span]


@dataclass(frozen=True, slots=True)
class Figures:
    """One way of splitting; shares are fractions of 1."""

    name: str
    chunks: int
    characters: float
    recall: float
    precision: float
    iou: float
    recall_at_budget: float


def main() -> int:
    """Print a table and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--window", type=int, default=200, help="words of the fixed windows")
    parser.add_argument("--out", type=Path, default=None, help="folder for chunking.json")
    options = parser.parse_args()
    folder = needed_evaldata()
    rows = asyncio.run(compare(folder / "chunk-spans", options.k, options.window))
    print(table(rows, options.k))
    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
        report = {"k": options.k, "rows": [asdict(row) for row in rows]}
        (options.out / "chunking.json").write_text(json.dumps(report, indent=2) + "\n")
    return 0


async def compare(folder: Path, k: int, window: int) -> list[Figures]:
    """Fixed windows, the splitter's defaults, and the splitter without overlap."""
    texts = {row["_id"]: (row["title"], row["text"]) for row in read_jsonl(folder / "corpus.jsonl")}
    questions = list(read_questions(folder))
    embedder = await open_inprocess(MINILM)
    asked = np.stack([(await embedder.embed_query(q.text))[0] for q in questions])
    limit = (await embedder.info()).passage_tokens
    ways: dict[str, Splitter] = {
        f"fixed windows of {window} words": fixed_windows(window),
        "splitter, defaults": splitter(embedder, SplitRules(max_tokens=limit)),
        "splitter, no overlap": splitter(embedder, SplitRules(overlap=0, max_tokens=limit)),
        "splitter, half the tokens": splitter(embedder, SplitRules(max_tokens=limit // 2)),
    }
    rows: list[Figures] = []
    budget = 0.0
    for name, way in ways.items():
        cut = [(key, *piece) for key, text in texts.items() for piece in way(*text)]
        spans: list[Span] = [(key, start, end) for key, start, end, _ in cut]
        vectors = await embed(embedder, [text for *_, text in cut])
        budget = budget or k * float(np.mean([end - start for _, start, end in spans]))
        rows.append(measure(name, spans, asked @ vectors.T, questions, k, int(budget)))
    await embedder.aclose()
    return rows


async def embed(embedder: Embedder, texts: Sequence[str]) -> NDArray[np.float32]:
    """Shape (texts, dimension); in parts, because an embedder bounds its queue."""
    parts = [texts[start : start + EMBED_PART] for start in range(0, len(texts), EMBED_PART)]
    return np.concatenate([await embedder.embed_texts(part) for part in parts])


def read_questions(folder: Path) -> Iterator[Question]:
    """The questions that have gold spans."""
    gold: dict[str, list[Span]] = defaultdict(list)
    with (folder / "spans.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            gold[row["query-id"]].append((row["corpus-id"], int(row["start"]), int(row["end"])))
    for row in read_jsonl(folder / "queries.jsonl"):
        if row["_id"] in gold:
            yield Question(row["text"], gold[row["_id"]])


def fixed_windows(words: int) -> Splitter:
    """Windows of so many words, without overlap or header."""
    rules = SplitRules(size=words, overlap=0, syntax="words")

    def cut(_: str, text: str) -> Iterator[tuple[int, int, str]]:
        return ((piece.start, piece.end, piece.content) for piece in split(text, rules))

    return cut


def splitter(embedder: Embedder, rules: SplitRules) -> Splitter:
    """The product's way: header counted, tokens capped."""
    tokenizer = embedder.tokenizer

    def cut(title: str, text: str) -> Iterator[tuple[int, int, str]]:
        head = title_line(title, {})

        @cache
        def header_tokens(breadcrumb: tuple[str, ...]) -> int:
            return tokenizer.count([indexed_content(head, breadcrumb, "", "")])[0] + 1

        own = SplitRules(rules.size, rules.overlap, rules.syntax, rules.max_tokens, header_tokens)
        for piece in split(text, own, tokenizer):
            shown = indexed_content(head, piece.breadcrumb, piece.prefix, piece.content)
            yield piece.start, piece.end, shown

    return cut


def measure(
    name: str,
    spans: Sequence[Span],
    scores: NDArray[np.float32],
    questions: Sequence[Question],
    k: int,
    budget: int,
) -> Figures:
    """Means over the questions; ``scores`` has shape (questions, chunks)."""
    figures = []
    for question, row in zip(questions, scores, strict=True):
        ranked = [spans[i] for i in np.argsort(-row, kind="stable")]
        gold = length(question.gold)
        shown = sum(end - start for _, start, end in ranked[:k])
        found = length(common(ranked[:k], question.gold))
        within = length(common(first_characters(ranked, budget), question.gold))
        figures.append((found / gold, found / shown, found / (shown + gold - found), within / gold))
    recall, precision, iou, at_budget = np.mean(figures, axis=0).tolist()
    mean = float(np.mean([end - start for _, start, end in spans]))
    return Figures(name, len(spans), mean, recall, precision, iou, at_budget)


def first_characters(ranked: Sequence[Span], budget: int) -> Iterator[Span]:
    """The first spans, the last of them shortened, that have ``budget`` characters together."""
    for key, start, end in ranked:
        if budget <= 0:
            return
        yield key, start, min(end, start + budget)
        budget -= end - start


def common(shown: Sequence[Span] | Iterator[Span], gold: Sequence[Span]) -> Iterator[Span]:
    """What two sets of spans share."""
    for key, start, end in shown:
        for other, first, last in gold:
            if key == other and max(start, first) < min(end, last):
                yield key, max(start, first), min(end, last)


def length(spans: Sequence[Span] | Iterator[Span]) -> int:
    """Characters that the spans cover, each counted once."""
    total, reached = 0, ("", 0)
    for key, start, end in sorted(spans):
        start = max(start, reached[1] if reached[0] == key else 0)
        if end > start:
            total += end - start
            reached = (key, end)
    return total


def table(rows: Sequence[Figures], k: int) -> str:
    """The figures as Markdown."""
    lines = [
        f"| way | chunks | characters each | recall@{k} | precision@{k} | IoU@{k} | recall, equal characters |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.name} | {row.chunks} | {row.characters:.0f} | {row.recall:.3f} | "
        f"{row.precision:.4f} | {row.iou:.4f} | {row.recall_at_budget:.3f} |"
        for row in rows
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
