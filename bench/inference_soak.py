"""The inference server at twice what it admits, for minutes: only 429, flat memory, a clean end.

Method. A server of MiniLM and a small cross-encoder runs as a process of its own. 32 clients ask
without pause, for vectors of 1 to 32 texts of 5 to 400 words, for ranks, and for tokens; together
they want twice as many inputs in flight as there are permits, so that about every second request
is refused, and tries again after a moment. Two more send what is wrong, and two hang up while they
are waited for. Resident memory is read each second. In the end the server gets SIGTERM under load.

Bars: no answer but 200 and 429 (and 400 and 422 to what was wrong), and no broken connection; memory
fitted by a line over the last four fifths of the run grows by at most 20 MB; exit code 0, in time.

Usage: python -m bench.inference_soak [--minutes 10] [--out bench/results]
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench.inference import words_of, write_small_reranker
from bench.lean_client import LeanClient, request_bytes
from bench.report import Bar, state_folder, write_report
from bench.server import rss_mb, start_inference
from ragbase_inference.resolve import MINILM, resolve

CLIENTS = 32
MEAN_INPUTS = 12
PERMITS = CLIENTS * MEAN_INPUTS // 2
PAUSE_S = 0.02
"""A refused client waits this long."""
GROWTH_MB = 20.0
END_S = 25.0
WRONG = (b"{", b'{"inputs":[]}', b'{"inputs":1}', b'{"inputs":[99999]}', b"\xff")


@dataclass
class Ledger:
    """What the clients saw, until the end was announced."""

    stopped: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    answers: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str) -> None:
        with self.lock:
            self.answers[what] += 1


def drawn(random_: random.Random, words: list[str]) -> bytes:
    """One request of the mix."""

    def text() -> str:
        return " ".join(random_.choices(words, k=random_.choice((5, 12, 40, 120, 400))))

    texts = [text() for _ in range(random_.choice((1, 1, 1, 8, 16, 32)))]
    kind = random_.random()
    if kind < 0.7:
        return request_bytes("/embed", {"inputs": texts})
    if kind < 0.8:
        return request_bytes("/v1/embeddings", {"input": texts})
    if kind < 0.95:
        return request_bytes("/models/small/rerank", {"query": text(), "texts": texts})
    return request_bytes("/tokenize", {"inputs": texts})


def ask_on(url: str, number: int, words: list[str], ledger: Ledger) -> None:
    """One well-behaved client, until the server has ended."""
    random_ = random.Random(number)
    client: LeanClient | None = None
    while not ledger.ended.is_set():
        try:
            client = client or LeanClient(url)
            status, _, _ = client.ask(drawn(random_, words))
        except OSError:
            client = None
            if not ledger.stopped.is_set():
                ledger.note("broken connection")
            ledger.ended.wait(PAUSE_S)
            continue
        ledger.note(str(status))
        if status == 429:
            ledger.ended.wait(PAUSE_S)
    if client is not None:
        client.close()


def send_wrong(url: str, number: int, ledger: Ledger) -> None:
    """One client whose bodies cannot be answered."""
    head = b"POST /embed HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: "
    while not ledger.stopped.wait(PAUSE_S):
        body = WRONG[number % len(WRONG)]
        number += 1
        with unless_ended(ledger), closing(LeanClient(url)) as client:
            status, _, _ = client.ask(head + str(len(body)).encode() + b"\r\n\r\n" + body)
            ledger.note(f"wrong, {status}")


def hang_up(url: str, number: int, words: list[str], ledger: Ledger) -> None:
    """One client that never waits for its answer."""
    random_ = random.Random(number)
    while not ledger.stopped.is_set():
        with unless_ended(ledger), closing(LeanClient(url)) as client:
            client.send(drawn(random_, words))
            ledger.stopped.wait(random_.random() / 10)
            ledger.note("hung up")


@contextmanager
def unless_ended(ledger: Ledger) -> Iterator[None]:
    """A connection may break only once the server is being ended."""
    try:
        yield
    except OSError:
        if not ledger.stopped.is_set():
            ledger.note("broken connection")


def watch(pid: int, ledger: Ledger) -> list[tuple[float, float]]:
    """Seconds and MB, each second until the load is to end."""
    started = time.monotonic()
    samples = []
    while not ledger.stopped.wait(1):
        samples.append((time.monotonic() - started, rss_mb(pid)))
    return samples


def growth_mb(samples: list[tuple[float, float]]) -> float:
    """MB that a fitted line gains over the last four fifths."""
    late = np.array(samples[len(samples) // 5 :])
    slope, _ = np.polyfit(late[:, 0], late[:, 1], 1)
    return float(slope * (late[-1, 0] - late[0, 0]))


def end(process: subprocess.Popen[bytes]) -> tuple[int, float]:
    """SIGTERM under load: the exit code, and the seconds it took."""
    started = time.monotonic()
    process.terminate()
    try:
        code = process.wait(4 * END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    return code, time.monotonic() - started


def soak(place: Path, minutes: float) -> dict[str, Any]:
    """The whole run."""
    tokens = resolve(MINILM).folder
    words = words_of(tokens)
    folder = write_small_reranker(place / "reranker", tokens)
    process, url = start_inference(
        "--model-id", MINILM, "--model", f"small={folder}",
        "--max-concurrent-requests", str(PERMITS),
    )  # fmt: skip
    ledger = Ledger()
    failures: list[BaseException] = []
    work: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        *((ask_on, (url, number, words, ledger)) for number in range(CLIENTS)),
        *((send_wrong, (url, number, ledger)) for number in range(2)),
        *((hang_up, (url, number, words, ledger)) for number in range(100, 102)),
    ]

    def guarded(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        try:
            function(*arguments)
        except BaseException as error:  # noqa: BLE001 - reported as a failure of the run
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=one) for one in work]
    for thread in threads:
        thread.start()
    timer = threading.Timer(minutes * 60, ledger.stopped.set)
    timer.start()
    samples = watch(process.pid, ledger)
    code, end_s = end(process)
    ledger.ended.set()
    for thread in threads:
        thread.join(60)
    return {
        "cores": len(os.sched_getaffinity(0)),
        "minutes": minutes,
        "answers": dict(ledger.answers),
        "failures": [repr(one) for one in failures],
        "rss_mb": [round(mb) for _, mb in samples[:: max(1, len(samples) // 20)]],
        "growth_mb": growth_mb(samples),
        "exit_code": code,
        "end_s": end_s,
    }


def bars_of(report: dict[str, Any]) -> list[Bar]:
    """The demands."""
    allowed = {"200", "429", "hung up", "wrong, 400", "wrong, 422", "wrong, 429"}
    answers = report["answers"]
    bad = sum(count for what, count in answers.items() if what not in allowed)
    refused = answers.get("429", 0) / max(1, answers.get("429", 0) + answers.get("200", 0))
    return [
        Bar("answers that should not be", bad + len(report["failures"]), 0),
        Bar("share of requests that were refused", refused, 0.1, at_least=True),
        Bar("growth of memory, MB", report["growth_mb"], GROWTH_MB),
        Bar("exit code", report["exit_code"], 0),
        Bar("seconds to end", report["end_s"], END_S + 5),
    ]


def as_markdown(report: dict[str, Any], bars: list[Bar]) -> str:
    """Both as tables."""
    lines = ["# Soak of the inference server", "", "| bar | value | limit | |", "|---|---|---|---|"]
    for bar in bars:
        sign = "≥" if bar.at_least else "≤"
        verdict = "met" if bar.met else "MISSED"
        lines.append(f"| {bar.name} | {bar.value:.2f} | {sign} {bar.limit:.2f} | {verdict} |")
    lines += ["", "| figure | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in report.items() if name != "bars"]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    with state_folder() as place:
        report = soak(place, arguments.minutes)
    bars = bars_of(report)
    text = as_markdown(report, bars)
    print(text)
    if arguments.out:
        write_report(arguments.out / "inference-soak", report, bars, text)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    sys.exit(main())
