"""A query's vector in this process, as the API makes it, against sentence-transformers.

Method. Both embed the same questions with MiniLM, one after the other, in turns: each round asks
every question once of either, and which of them begins changes with the round. Ours is the API's own
`InProcessEmbedder`, queue and all, awaited on an event loop; sentence-transformers runs on as many
threads as torch takes by default. Bar: its median is at least 4 times ours.

Needs torch, so it runs in the environment of ``make test-torch``, where the API's packages are found
by their path:

    PYTHONPATH=services/api/src .venv-torch/bin/python -m bench.query_embedding [--rounds 20]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import time
from pathlib import Path
from typing import Any

# The Makefile allows numpy one thread; torch shall have its own default.
os.environ.pop("OMP_NUM_THREADS", None)

import numpy as np
import torch
from sentence_transformers import SentenceTransformer

from bench.report import Bar, write_report
from ragbase.clients.inprocess import InProcessEmbedder, open_inprocess
from ragbase_inference.resolve import MINILM, resolve

TIMES_FASTER = 4.0
QUESTIONS = (
    "What is the notice period in the supplier contract?",
    "Who invented the jet engine?",
    "how do vaccines against influenza work",
    "annual report 2023 revenue by region",
    "Which river flows through Zürich?",
    "error 429 too many requests retry",
    "Is overtime paid on public holidays?",
    "difference between a patent and a trade mark",
    "What did the committee decide about the new budget?",
    "reset password of a service account",
)


async def measure(ours: InProcessEmbedder, theirs: Any, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every question in every round."""
    times: dict[str, list[float]] = {"ragbase": [], "sentence-transformers": []}

    async def ask_ours(question: str) -> None:
        await ours.embed_query(question)

    async def ask_theirs(question: str) -> None:
        theirs.encode(question)

    ways = [("ragbase", ask_ours), ("sentence-transformers", ask_theirs)]
    for number in range(-2, rounds):  # two rounds to warm up
        for name, ask in ways if number % 2 else reversed(ways):
            for question in QUESTIONS:
                began = time.perf_counter()
                await ask(question)
                if number >= 0:
                    times[name].append((time.perf_counter() - began) * 1e3)
    return times


async def sameness(ours: InProcessEmbedder, theirs: Any) -> float:
    """Least cosine of the two vectors of a question."""
    pairs = [((await ours.embed_query(one))[0], theirs.encode(one)) for one in QUESTIONS]
    return min(float(np.dot(one, other) / np.linalg.norm(other)) for one, other in pairs)


async def run(rounds: int) -> dict[str, Any]:
    """All figures of the report."""
    found = resolve(MINILM)
    theirs = SentenceTransformer(str(found.folder), device="cpu")
    ours = await open_inprocess(MINILM)
    try:
        near = await sameness(ours, theirs)
        times = await measure(ours, theirs, rounds)
    finally:
        await ours.aclose()
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    return {
        "threads of torch": torch.get_num_threads(),
        "median_ms": medians,
        "least_ms": {name: min(taken) for name, taken in times.items()},
        "ratio": medians["sentence-transformers"] / medians["ragbase"],
        "least cosine": near,
        "load": os.getloadavg(),
    }


def table(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    rows = [
        f"| {name} | {report['median_ms'][name]:.2f} | {report['least_ms'][name]:.2f} |"
        for name in report["median_ms"]
    ]
    return "\n".join(
        [
            "# A query's vector, in-process",
            "",
            "| | median ms | least ms |",
            "|---|---|---|",
            *rows,
            "",
            f"{report['ratio']:.1f} times as fast (bar: {TIMES_FASTER:.0f}); sentence-transformers on "
            f"{report['threads of torch']} threads; least cosine of the two vectors "
            f"{report['least cosine']:.4f}; load of the machine {report['load'][0]:.1f}.",
        ]
    )


def main() -> None:
    """Measure, print, and write ``query-embedding.json`` and ``.md``; exits 1 below the bar."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    args = parser.parse_args()
    report = asyncio.run(run(args.rounds))
    bar = Bar(
        "times as fast as sentence-transformers", report["ratio"], TIMES_FASTER, at_least=True
    )
    text = table(report)
    write_report(args.out / "query-embedding", report, [bar], text)
    print(text)
    if not bar.met:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
