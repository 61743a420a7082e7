"""The inference server against the bare model: throughput, batching, and what a request adds.

Method. Servers run as processes of their own, on all cores, their clients in this one; a client
sends ready-made bodies over a kept connection and does not parse answers. Texts are random words of
MiniLM's vocabulary, each one token. All steps are interleaved: the machine may be shared.

1. **Throughput.** ``POST /embed`` of 32 texts by one client, against the bare model in this process
   on the same texts (tokenisation included, batches of like length). A request's time is its wall
   time less the client's own CPU time. Bar, at 150 tokens: ≥ 0.9 of the bare rate; queries of 12
   tokens are reported.
2. **Batching.** 16 clients ask for one text each, without pause, on a server and on one with
   ``--no-batching``. Bars, on against off: ≥ 1.3 for queries of 12 tokens, ≥ 0.95 for 150.
3. **Rerank.** ``POST /rerank`` of 32 texts of 150 tokens on a cross-encoder of one small layer with
   MiniLM's tokens, against the bare call of the same model in this process. Bar: ≤ 5 ms more than
   the bare call, tokenisation included in both; beyond the model alone is reported.

Usage: python -m bench.inference [--rounds 20] [--seconds 3] [--out bench/results]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import Tokenizer

from bench.lean_client import LeanClient, ask_all, request_bytes
from bench.report import Bar, state_folder, write_report
from bench.server import start_inference
from ragbase_inference.backends.open import open_model
from ragbase_inference.embedder import open_embedder
from ragbase_inference.kinds import PairModel
from ragbase_inference.resolve import MINILM, resolve

BATCH = 32
CLIENTS = 16
LENGTHS = {"query": 12, "passage": 150}
"""Tokens of a text, special ones included."""
RERANK_MS = 5.0


def words_of(folder: Path) -> list[str]:
    """Words that are one token each."""
    vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    return sorted(
        word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 3
    )


def texts_of(words: list[str], tokens: int, count: int, seed: int = 0) -> list[str]:
    """Texts of so many tokens, special ones included."""
    random = np.random.default_rng(seed)
    return [" ".join(random.choice(words, tokens - 2)) for _ in range(count)]


def write_small_reranker(folder: Path, tokens: Path) -> Path:
    """A cross-encoder of one layer, 32 wide, that reads MiniLM's tokens: nearly free to run."""
    folder.mkdir()
    width, layer = 32, "bert.encoder.layer.0."
    vocabulary = Tokenizer.from_file(str(tokens / "tokenizer.json")).get_vocab_size()
    dense = {
        layer + "attention.self.query": (width, width),
        layer + "attention.self.key": (width, width),
        layer + "attention.self.value": (width, width),
        layer + "attention.output.dense": (width, width),
        layer + "intermediate.dense": (4 * width, width),
        layer + "output.dense": (width, 4 * width),
        "bert.pooler.dense": (width, width),
        "classifier": (1, width),
    }
    norms = ("bert.embeddings.", layer + "attention.output.", layer + "output.")
    shapes: dict[str, tuple[int, ...]] = {
        "bert.embeddings.word_embeddings.weight": (vocabulary, width),
        "bert.embeddings.position_embeddings.weight": (512, width),
        "bert.embeddings.token_type_embeddings.weight": (2, width),
        **{f"{name}.weight": shape for name, shape in dense.items()},
        **{f"{name}.bias": shape[:1] for name, shape in dense.items()},
        **{f"{name}LayerNorm.{leaf}": (width,) for name in norms for leaf in ("weight", "bias")},
    }
    random = np.random.default_rng(0)
    tensors = {name: random.normal(0, 0.3, s).astype(np.float32) for name, s in shapes.items()}
    save_file(tensors, folder / "model.safetensors")
    config = {
        "model_type": "bert",
        "architectures": ["BertForSequenceClassification"],
        "id2label": {"0": "LABEL_0"},
        "hidden_size": width,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "hidden_act": "gelu",
        "max_position_embeddings": 512,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_bytes((tokens / "tokenizer.json").read_bytes())
    return folder


def seconds_of(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def throughput(url: str, words: list[str], rounds: int) -> dict[str, dict[str, float]]:
    """Texts a second of the bare model and of the server, by length."""
    embedder = open_embedder(MINILM)
    client = LeanClient(url)
    found = {}
    for name, tokens in LENGTHS.items():
        texts = texts_of(words, tokens, BATCH)
        request = request_bytes("/embed", {"inputs": texts})
        bare: list[float] = []
        served: list[float] = []
        for number in range(rounds + 2):
            bare_s = seconds_of(lambda texts=texts: embedder.embed(embedder.encode_texts(texts)))  # type: ignore[misc]
            status, wall, own = client.ask(request)
            if status != 200:
                raise RuntimeError(f"/embed answered {status}")
            if number >= 2:
                bare.append(bare_s)
                served.append(wall - own)
        found[name] = {
            "bare_per_s": BATCH / statistics.median(bare),
            "server_per_s": BATCH / statistics.median(served),
            "ratio": statistics.median(bare) / statistics.median(served),
        }
    client.close()
    return found


def batching(
    on: str, off: str, words: list[str], rounds: int, seconds: float
) -> dict[str, dict[str, float]]:
    """Requests a second of 16 clients with batching and without, by length."""
    found = {}
    for name, tokens in LENGTHS.items():
        texts = texts_of(words, tokens, 256, seed=1)
        requests = [request_bytes("/embed", {"inputs": text}) for text in texts]
        rates: dict[str, list[float]] = {on: [], off: []}
        latency: dict[str, list[float]] = {on: [], off: []}
        for number in range(rounds + 1):
            for url in (on, off):
                clients = [LeanClient(url) for _ in range(CLIENTS)]
                statuses, times, wall = ask_all(clients, requests, seconds)
                for client in clients:
                    client.close()
                if set(statuses) != {200}:
                    raise RuntimeError(f"/embed answered {statuses}")
                if number:
                    rates[url].append(len(times) / wall)
                    latency[url] += times
        found[name] = {
            "on_per_s": statistics.median(rates[on]),
            "off_per_s": statistics.median(rates[off]),
            "ratio": statistics.median(rates[on]) / statistics.median(rates[off]),
            "on_p95_ms": float(np.percentile(latency[on], 95)) * 1000,
            "off_p95_ms": float(np.percentile(latency[off], 95)) * 1000,
        }
    return found


def rerank(url: str, folder: Path, words: list[str], rounds: int) -> dict[str, float]:
    """Milliseconds of the bare model, of tokens and model, and of a request."""
    model: Any = open_model(str(folder))
    reranker: PairModel = model
    query, texts = texts_of(words, 12, 1, seed=2)[0], texts_of(words, 150, BATCH, seed=3)
    pairs: list[tuple[str, str | None]] = [(query, text) for text in texts]
    request = request_bytes("/models/small/rerank", {"query": query, "texts": texts})
    client = LeanClient(url)
    step = max(1, reranker.facts.batch_tokens // (LENGTHS["passage"] + 12))
    times: dict[str, list[float]] = {"model": [], "whole": [], "served": []}
    for number in range(5 * rounds + 5):
        started = time.perf_counter()
        encoded = reranker.encode_pairs(pairs, cut="right")
        tokenised = time.perf_counter()
        for first in range(0, len(encoded), step):
            reranker.logits(encoded[first : first + step])
        ended = time.perf_counter()
        status, wall, own = client.ask(request)
        if status != 200:
            raise RuntimeError(f"/rerank answered {status}")
        if number >= 5:
            times["model"].append(ended - tokenised)
            times["whole"].append(ended - started)
            times["served"].append(wall - own)
    client.close()
    model.close()
    p50 = {name: statistics.median(values) * 1000 for name, values in times.items()}
    return {
        "model_ms": p50["model"],
        "tokens_and_model_ms": p50["whole"],
        "server_ms": p50["served"],
        "overhead_ms": p50["served"] - p50["whole"],
        "overhead_over_model_ms": p50["served"] - p50["model"],
    }


def bars_of(report: dict[str, Any]) -> list[Bar]:
    """The demands."""
    return [
        Bar(
            "server / bare throughput, 32 x 150 tokens",
            report["throughput"]["passage"]["ratio"],
            0.9,
            at_least=True,
        ),
        Bar("batching on / off, queries", report["batching"]["query"]["ratio"], 1.3, at_least=True),
        Bar(
            "batching on / off, 150 tokens",
            report["batching"]["passage"]["ratio"],
            0.95,
            at_least=True,
        ),
        Bar(
            "/rerank of 32 texts over the bare call, ms", report["rerank"]["overhead_ms"], RERANK_MS
        ),
    ]


def as_markdown(report: dict[str, Any], bars: list[Bar]) -> str:
    """All as tables."""
    lines = ["# Inference server", "", f"{report['cores']} cores.", ""]
    lines += ["| bar | value | limit | |", "|---|---|---|---|"]
    for bar in bars:
        sign = "≥" if bar.at_least else "≤"
        verdict = "met" if bar.met else "MISSED"
        lines.append(f"| {bar.name} | {bar.value:.2f} | {sign} {bar.limit:.2f} | {verdict} |")
    for part in ("throughput", "batching"):
        rows = report[part]
        columns = list(rows["query"])
        lines += ["", f"| {part} | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
        for name, row in rows.items():
            cells = " | ".join(f"{row[column]:.2f}" for column in columns)
            lines.append(f"| {name}, {LENGTHS[name]} tokens | {cells} |")
    lines += ["", "| rerank of 32 texts | ms |", "|---|---|"]
    lines += [f"| {name} | {value:.2f} |" for name, value in report["rerank"].items()]
    return "\n".join(lines)


def measure(place: Path, rounds: int, seconds: float) -> dict[str, Any]:
    """Start both servers, measure, stop them."""
    tokens = resolve(MINILM).folder
    words = words_of(tokens)
    folder = write_small_reranker(place / "reranker", tokens)
    with ExitStack() as stack:
        urls = []
        for flags in ((), ("--no-batching",)):
            process, url = start_inference(
                "--model-id", MINILM, "--model", f"small={folder}", *flags
            )
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
            urls.append(url)
        on, off = urls
        return {
            "cores": len(os.sched_getaffinity(0)),
            "throughput": throughput(on, words, rounds),
            "batching": batching(on, off, words, max(1, rounds // 2), seconds),
            "rerank": rerank(on, folder, words, rounds),
        }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each turn with 16 clients")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with state_folder() as place:
        report = measure(place, arguments.rounds, arguments.seconds)
    bars = bars_of(report)
    text = as_markdown(report, bars)
    print(text)
    if arguments.out:
        write_report(arguments.out / "inference", report, bars, text)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
