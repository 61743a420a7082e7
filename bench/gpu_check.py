"""What a GPU must do for the inference server, in at most eight minutes, with random weights.

Method. Three models are written at the sizes of bge-m3, bge-reranker-v2-m3 and Qwen3-Reranker-4B,
and opened by the product's own `open_model` on the device that torch reports (CUDA, ROCm, or another
of its kinds). No weights are fetched.

1. **Equality.** Each model in bfloat16 and float16 against itself in float32, which TF32 is kept
   from: least cosine of vectors, correlation and largest difference of scores.
2. **Out of memory.** The process may use so much memory as eight texts of 512 tokens need, twice
   over; 64 of them are embedded by the server's `Batcher`. All must come out as before, in halves.
   Where memory cannot be capped (a CPU), the want of it is made up.
3. **Rerank.** A query against 32 texts: median milliseconds of both rerankers.
4. **Several models.** All three stay loaded; each answers as it did alone; closing one frees it.

A step that the time left does not allow is reported as not run. Exit codes: 0 all bars met, 1 one
missed or not run, 2 there is no GPU.

Usage, with the packages of ``requirements/torch.txt`` or the machine's own torch and transformers:
    PYTHONPATH=services/inference/src python -m bench.gpu_check [--out FOLDER] [--seconds 480]
    … --tiny --device cpu      the script's own parts, on a machine without a GPU
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench.gpu_models import write_models
from ragbase_inference.backends.open import open_model
from ragbase_inference.backends.torch_device import choose_device
from ragbase_inference.batcher import Batcher
from ragbase_inference.errors import ModelUnavailableError
from services.inference.tests_torch.models import word_piece

QUERY = "which engine answers the signal of the river bank"
COSINE = 0.999
CORRELATION = {"bfloat16": 0.99, "float16": 0.999}
"""Least correlation of scores with exact ones. On a CPU, at these depths and 256 wide: 0.998 to 0.9996
and 1.0000; a fault of an attention mask or a position is far below."""
ROOM_FOR_ALL_LAYERS = 40 * 2**30
"""Device memory below which Qwen's model gets 8 of its 36 layers: in float32 it takes 16 GB."""


@dataclass
class Row:
    """One line of the report; ``met`` None: no bar, or not run."""

    step: str
    model: str
    what: str
    value: str
    met: bool | None = None


class Check:
    """Collects rows, and keeps to the time given."""

    def __init__(self, seconds: float) -> None:
        self.rows: list[Row] = []
        self.skipped: list[str] = []
        self._end = time.monotonic() + seconds

    def add(self, step: str, model: str, what: str, value: object, met: bool | None = None) -> None:
        """Record and print."""
        shown = f"{value:.5g}" if isinstance(value, float) else str(value)
        self.rows.append(Row(step, model, what, shown, met))
        mark = {True: "ok", False: "MISSED", None: ""}[met]
        print(f"{step:12} {model:16} {what:44} {shown:>16} {mark}", flush=True)

    def step(self, name: str, least_seconds: float, run: Callable[[], None]) -> None:
        """Run, unless less than ``least_seconds`` are left."""
        if time.monotonic() + least_seconds > self._end:
            self.skipped.append(name)
            self.add(name, "", "not run: too little time left", "-", None)
            return
        began = time.monotonic()
        run()
        self.add(name, "", "seconds taken", time.monotonic() - began)

    @property
    def passed(self) -> bool:
        """Whether every bar was met and nothing left out."""
        return not self.skipped and all(row.met is not False for row in self.rows)


def texts(count: int, words: int) -> list[str]:
    """Random texts of so many words, each one token to the embedder."""
    random = np.random.default_rng(words)
    return [" ".join(random.choice(vocabulary(), words)) for _ in range(count)]


@cache
def vocabulary() -> list[str]:
    """Words that are one token to the embedder."""
    return sorted(word for word in word_piece().get_vocab() if word.isascii() and word.isalpha())


def pairs(count: int, words: int) -> list[tuple[str, str | None]]:
    """The query with each of the texts."""
    return [(QUERY, text) for text in texts(count, words)]


class Bench:
    """The models' folders, and what they gave alone in float32."""

    def __init__(
        self, folders: dict[str, Path], device: torch.device, check: Check, *, tiny: bool = False
    ) -> None:
        """``tiny``: texts of a tenth of their words."""
        self.scale = 0.1 if tiny else 1.0
        self.folders = folders
        self.device = device
        self.check = check
        self.exact: dict[str, NDArray[np.float32]] = {}

    @contextmanager
    def opened(self, name: str, dtype: Any) -> Iterator[Any]:
        """A model, closed afterwards."""
        model = open_model(
            str(self.folders[name]), backend="torch", device=str(self.device), dtype=dtype
        )
        try:
            yield model
        finally:
            model.close()

    def answers(self, name: str, model: Any) -> NDArray[np.float32]:
        """Vectors (rows, width) of 24 texts, or scores (rows, 1) of 24 pairs, of mixed lengths."""
        lengths = [self.words(count) for count in (30, 60, 120)]
        if name == "bge-m3":
            given = [text for words in lengths for text in texts(8, words)]
            return np.asarray(model.embed(model.encode(given, cut="right")))
        asked = [pair for words in lengths for pair in pairs(8, words)]
        logits = model.logits(model.encode_pairs(asked, cut="right"))
        scores: NDArray[np.float32] = 1 / (1 + np.exp(-logits))
        return scores

    def words(self, count: int) -> int:
        """So many words, or fewer for tiny models."""
        return max(3, int(count * self.scale))

    def equality(self, name: str) -> None:
        """Half precision against float32."""
        with self.opened(name, "float32") as model:
            self.exact[name] = self.answers(name, model)
        for dtype in ("bfloat16", "float16"):
            with self.opened(name, dtype) as model:
                self._compare("equality", name, dtype, self.answers(name, model))

    def _compare(self, step: str, name: str, dtype: str, found: NDArray[np.float32]) -> None:
        exact = self.exact[name]
        self.check.add(step, name, f"{dtype}: all finite", "", bool(np.isfinite(found).all()))
        if name == "bge-m3":
            least = float(cosines(found, exact).min())
            self.check.add(step, name, f"{dtype}: least cosine to float32", least, least >= COSINE)
            return
        self.check.add(step, name, f"{dtype}: spread of the exact scores", float(exact.std()))
        worst = float(np.abs(found - exact).max())
        self.check.add(step, name, f"{dtype}: largest difference of a score", worst)
        alike = float(np.corrcoef(found[:, 0], exact[:, 0])[0, 1])
        what = f"{dtype}: correlation of scores"
        self.check.add(step, name, what, alike, alike >= CORRELATION[dtype])

    def out_of_memory(self) -> None:
        """64 texts where memory suffices for about sixteen."""
        with self.opened("bge-m3", "bfloat16") as model:
            encoded = model.encode(texts(64, self.words(510)), cut="right")
            expected = np.vstack([model.embed(encoded[n : n + 8]) for n in range(0, 64, 8)])
            splits: list[int] = []
            with little_memory(model, encoded[:8], self.device):
                found = asyncio.run(embed_all(model, encoded, splits))
            least = float(cosines(found, expected).min())
        self.check.add("memory", "bge-m3", "batches that did not fit", len(splits), len(splits) > 0)
        self.check.add("memory", "bge-m3", "largest of them, texts", max(splits, default=0))
        self.check.add("memory", "bge-m3", "least cosine to enough memory", least, least >= COSINE)

    def rerank(self, rounds: int) -> None:
        """A query against 32 texts of some 400 tokens: Qwen's words here have several each."""
        for name, words in (("bge-reranker", 400), ("qwen3-reranker", 50)):
            with self.opened(name, None) as model:
                encoded = model.encode_pairs(pairs(32, self.words(words)), cut="right")
                model.logits(encoded)
                taken = [seconds(lambda: model.logits(encoded)) for _ in range(rounds)]  # noqa: B023 - called at once
                tokens = sum(len(one) for one in encoded)
                what = f"32 texts, {tokens} tokens, {model.facts.dtype}: median ms"
            self.check.add("rerank", name, what, statistics.median(taken) * 1e3)

    def together(self) -> None:
        """All models loaded at once, asked in turn."""
        models = {
            name: open_model(
                str(folder), backend="torch", device=str(self.device), dtype="bfloat16"
            )
            for name, folder in self.folders.items()
        }
        try:
            for _ in range(2):
                for name, model in models.items():
                    self._compare("together", name, "bfloat16", self.answers(name, model))
            total = sum(model.memory_bytes() for model in models.values())
            self.check.add("together", "", "GB of weights of all", total / 1e9)
            largest = max(models.values(), key=lambda model: model.memory_bytes())
            size, before = largest.memory_bytes(), allocated(self.device)
            largest.close()
            if self.device.type != "cpu":
                freed = before - allocated(self.device)
                what = "GB freed by closing the largest"
                self.check.add("together", "", what, freed / 1e9, freed > 0.95 * size)
        finally:
            for model in models.values():
                model.close()


def cosines(one: NDArray[np.float32], other: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of rows with rows."""
    norms = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    found: NDArray[np.float32] = (one * other).sum(axis=1) / norms
    return found


def seconds(work: Callable[[], object]) -> float:
    """Wall time; results are on the host when it returns, so the device has finished."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def allocated(device: torch.device) -> int:
    """Bytes that torch's tensors hold on the device."""
    return 0 if device.type == "cpu" else int(torch.accelerator.memory_allocated(device))


async def embed_all(model: Any, encoded: Sequence[Any], splits: list[int]) -> NDArray[np.float32]:
    """Through the server's batcher, in one batch if memory allowed."""
    batcher = Batcher[Any, Any](
        lambda batch: list(model.embed(batch)),
        cost=len,
        max_cost=sum(len(one) for one in encoded) + 1,
        max_waiting=1000,
        on_oom=splits.append,
    )
    try:
        return np.vstack(await batcher.submit_all(encoded))
    finally:
        await batcher.aclose()


@contextmanager
def little_memory(model: Any, batch: Sequence[Any], device: torch.device) -> Iterator[None]:
    """Let the process use twice what ``batch`` needs beside the weights."""
    if device.type != "cuda":
        with made_up_want(model, rows=2 * len(batch)):
            yield
        return
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    held = torch.cuda.memory_reserved(device)
    model.embed(batch)
    need = torch.cuda.max_memory_reserved(device) - held
    total = torch.cuda.get_device_properties(device).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction((held + 2 * need) / total, device)
    try:
        yield
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, device)


@contextmanager
def made_up_want(model: Any, rows: int) -> Iterator[None]:
    """Fail as torch does where a batch has more than ``rows`` texts."""

    def lack(_: Any, given: Sequence[Any]) -> None:
        if len(given[0]["input_ids"]) > rows:
            raise torch.OutOfMemoryError("out of memory, made up")

    hook = model._module[0].register_forward_pre_hook(lack)
    try:
        yield
    finally:
        hook.remove()


def device_facts(device: torch.device) -> dict[str, Any]:
    """What the figures were measured on."""
    facts = {"device": str(device), "torch": torch.__version__, "python": platform.python_version()}
    facts |= {"cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None)}
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        facts |= {"name": properties.name, "memory_gb": round(properties.total_memory / 1e9, 1)}
    return facts


def layers_for(device: torch.device) -> int | None:
    """Of Qwen's model, where the device has too little memory for all of them in float32."""
    if device.type != "cuda":
        return None
    total = torch.cuda.get_device_properties(device).total_memory
    return 8 if total < ROOM_FOR_ALL_LAYERS else None


def run(args: argparse.Namespace, device: torch.device) -> Check:
    """All steps, the dearest last but one."""
    check = Check(args.seconds)
    torch.set_float32_matmul_precision("highest")
    with tempfile.TemporaryDirectory(prefix="ragbase-gpu-") as root:
        folders: dict[str, Path] = {}
        layers = layers_for(device)
        check.step(
            "write",
            60,
            lambda: folders.update(
                write_models(Path(root), device, tiny=args.tiny, qwen_layers=layers)
            ),
        )
        if layers is not None:
            check.add("write", "qwen3-reranker", "layers, of 36: too little memory for all", layers)
        bench = Bench(folders, device, check, tiny=args.tiny)
        for name in folders:
            check.step("equality", 60, lambda name=name: bench.equality(name))  # type: ignore[misc]
        check.step("memory", 30, bench.out_of_memory)
        check.step("rerank", 30, lambda: bench.rerank(rounds=5))
        check.step("together", 30, bench.together)
    return check


def table(facts: dict[str, Any], check: Check) -> str:
    """The report as Markdown."""
    head = ", ".join(f"{key} {value}" for key, value in facts.items() if value is not None)
    marks = {True: "met", False: "**missed**", None: ""}
    lines = [
        f"| {r.step} | {r.model} | {r.what} | {r.value} | {marks[r.met]} |" for r in check.rows
    ]
    start = ["# GPU check", "", head, "", "| step | model | what | value | bar |", "|---" * 5 + "|"]
    return "\n".join([*start, *lines])


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Flags of the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=480)
    parser.add_argument("--tiny", action="store_true", help="models of a megabyte")
    parser.add_argument("--device", help="as torch names it; left out: what torch reports")
    parser.add_argument("--out", type=Path, help="folder for gpu-check.json and .md")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> None:
    """Check, print, write; ends by `SystemExit`."""
    args = parse(argv)
    try:
        device = choose_device(args.device)
    except ModelUnavailableError as error:
        print(f"not run: {error}")
        raise SystemExit(2) from error
    if device.type == "cpu" and args.device is None:
        print(f"not run: torch {torch.__version__} reports no GPU on this machine")
        raise SystemExit(2)
    facts = device_facts(device)
    print(json.dumps(facts), flush=True)
    check = run(args, device)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        report = {"facts": facts, "passed": check.passed, "rows": [asdict(r) for r in check.rows]}
        (args.out / "gpu-check.json").write_text(json.dumps(report, indent=1) + "\n")
        (args.out / "gpu-check.md").write_text(table(facts, check) + "\n")
    print("passed" if check.passed else "NOT passed")
    raise SystemExit(0 if check.passed else 1)


if __name__ == "__main__":
    main()
