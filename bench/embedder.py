"""Precisions of the in-process embedder: speed, sameness of vectors, retrieval quality.

Method. MiniLM is converted to fp32 and to each 8-bit form, all with the same graph around the
matrix products:

- ``int8 row``: activations scaled by row, 7-bit weights (`ragbase_inference.linear`);
- ``dynamic int8``: `onnxruntime.quantization.quantize_dynamic`, activations scaled by tensor;
- ``nbits N``: weight-only ``MatMulNBits``, 8 bits, blocks of N, accuracy level 4;
- ``static QDQ``: `quantize_static`, min-max over 64 passages of the sets.

Speed is measured in interleaved rounds (each round runs every form once on every shape), because
the machine may be shared: the least and the median are given. ``same`` is the least cosine between
a text alone and in a batch of 16 texts of other lengths; ``near`` the least cosine to fp32. Quality
is dense nDCG@10 over whole documents (cut at the model's limit).

Usage: python -m bench.embedder [--rounds 30] [--threads 2] [--out bench/results]
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnxruntime.quantization import (
    CalibrationDataReader,
    QuantFormat,
    quantize_dynamic,
    quantize_static,
)

from bench.corpus import evaldata, read_jsonl
from ragbase_inference.config import ModelConfig, read_config
from ragbase_inference.embedder import TextEmbedder
from ragbase_inference.encoder import write_encoder
from ragbase_inference.families import Prefixes
from ragbase_inference.resolve import MINILM, resolve
from ragbase_inference.session import EncoderSession, pad
from ragbase_inference.tokens import Encoded, TextTokenizer

SETS = ("cranfield", "musique-mini", "anthropic-docs")
SHAPES = {"query 1x11": (1, 11), "1x150": (1, 150), "6x150": (6, 150), "32x150": (32, 150)}
Make = Callable[[Path, Path], None]


@dataclass(frozen=True)
class Judged:
    """One evaluation set in memory."""

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def read_set(folder: Path) -> Judged:
    """Documents as title and text; only judged queries."""
    documents = {
        row["_id"]: f"{row.get('title', '')}\n{row['text']}".strip()
        for row in read_jsonl(folder / "corpus.jsonl")
    }
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels[query][document] = int(grade)
    queries = {
        row["_id"]: row["text"]
        for row in read_jsonl(folder / "queries.jsonl")
        if row["_id"] in qrels
    }
    return Judged(folder.name, documents, queries, dict(qrels))


def block_quantised(source: Path, target: Path, block: int) -> None:
    """Replace each product with a constant by MatMulNBits: 8 bits, blocks along the input."""
    model = onnx.load(source)
    constants = {one.name: one for one in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type != "MatMul" or node.input[1] not in constants:
            continue
        name = node.input[1]
        weight = numpy_helper.to_array(constants[name]).T
        out, into = weight.shape
        blocks = weight.reshape(out, into // block, block)
        scale = np.maximum(np.abs(blocks).max(axis=2), 1e-12) / 127
        steps = np.rint(blocks / scale[..., None]) + 128
        model.graph.initializer.remove(constants[name])
        model.graph.initializer.append(numpy_helper.from_array(steps.astype(np.uint8), name))
        model.graph.initializer.append(
            numpy_helper.from_array(scale.reshape(-1).astype(np.float32), f"{name}.scale")
        )
        node.op_type, node.domain = "MatMulNBits", "com.microsoft"
        node.input.append(f"{name}.scale")
        facts = {"K": into, "N": out, "bits": 8, "block_size": block, "accuracy_level": 4}
        node.attribute.extend(helper.make_attribute(key, value) for key, value in facts.items())
    onnx.save(model, target)


class Calibration(CalibrationDataReader):  # type: ignore[misc] # ships no types
    """Feeds passages one by one."""

    def __init__(self, encoded: Sequence[Encoded]) -> None:
        self._feeds: Iterator[Any] = iter(
            [
                dict(zip(("input_ids", "attention_mask"), pad([e.ids], 0), strict=True))
                for e in encoded
            ]
        )

    def get_next(self) -> Any:
        return next(self._feeds, None)


def forms(calibration: Sequence[Encoded]) -> dict[str, Make]:
    """How each quantised form is made from the fp32 file."""
    typed = {"DefaultTensorType": onnx.TensorProto.FLOAT}
    return {
        "dynamic int8": lambda source, target: quantize_dynamic(
            source,
            target,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            extra_options=typed,
        ),
        "static QDQ": lambda source, target: quantize_static(
            source,
            target,
            Calibration(calibration),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=True,
            extra_options=typed,
        ),
        "nbits 64": lambda source, target: block_quantised(source, target, 64),
        "nbits 128": lambda source, target: block_quantised(source, target, 128),
    }


def open_all(
    config: ModelConfig, tokenizer: TextTokenizer, folder: Path, texts: Sequence[str], threads: int
) -> dict[str, TextEmbedder]:
    """Every form, loaded."""
    files: dict[str, Path] = {}
    for name, precision in (("fp32", "fp32"), ("int8 row", "int8")):
        (folder / precision).mkdir()
        write_encoder(config, folder / precision, precision)  # type: ignore[arg-type]
        files[name] = folder / precision / "model.onnx"
    for name, make in forms(tokenizer.encode(texts, config.max_tokens)).items():
        files[name] = folder / f"{name.replace(' ', '-')}.onnx"
        make(files["fp32"], files[name])
    opened = {}
    for name, file in files.items():
        opened[name] = TextEmbedder(
            config,
            tokenizer,
            Prefixes(),
            passages=EncoderSession(file, threads=threads),
            queries=EncoderSession(file, threads=1),
        )
    return opened


def speeds(models: dict[str, TextEmbedder], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Milliseconds by form and shape: one query on one thread, passages on all."""
    random = np.random.default_rng(0)
    batches = {
        shape: [Encoded(random.integers(1000, 29_000, tokens).tolist()) for _ in range(rows)]
        for shape, (rows, tokens) in SHAPES.items()
    }
    times: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            for shape, batch in batches.items():
                run = model.run_queries if shape.startswith("query") else model.run_passages
                for _ in range(5 if shape.startswith("query") else 1):
                    began = time.perf_counter()
                    run(batch)
                    times[name][shape].append((time.perf_counter() - began) * 1e3)
    return times


def sameness(model: TextEmbedder, texts: Sequence[str]) -> tuple[float, NDArray[np.float32]]:
    """Least cosine of a text alone to itself in a batch, and the vectors of the texts alone."""
    encoded = model.encode_texts(texts)
    alone = np.vstack([model.run_passages([one]) for one in encoded])
    together = np.vstack(
        [model.run_passages(encoded[i : i + 16]) for i in range(0, len(texts), 16)]
    )
    return float((alone * together).sum(axis=1).min()), alone


def quality(model: TextEmbedder, judged: Judged) -> float:
    """Mean nDCG@10 of an exact dense search over whole documents."""
    documents = model.embed(model.encode_texts(list(judged.documents.values())))
    queries = model.embed(model.encode_texts(list(judged.queries.values())))
    ids = list(judged.documents)
    run = {}
    for query, scores in zip(judged.queries, queries @ documents.T, strict=True):
        best = np.argsort(-scores, kind="stable")[:10]
        run[query] = {ids[row]: float(scores[row]) for row in best}
    measure = ir_measures.nDCG @ 10
    return float(ir_measures.calc_aggregate([measure], judged.qrels, run)[measure])


def measure(args: argparse.Namespace, sets: Sequence[Judged]) -> list[dict[str, Any]]:
    """One row a form."""
    found = resolve(MINILM)
    config, tokenizer = read_config(found.name, found.folder), TextTokenizer(found.folder)
    texts = [text for judged in sets for text in list(judged.documents.values())[:22]]
    texts += [text for judged in sets for text in list(judged.queries.values())[:22]]
    with tempfile.TemporaryDirectory() as folder:
        models = open_all(config, tokenizer, Path(folder), texts[:64], args.threads)
        times = speeds(models, args.rounds)
        exact = sameness(models["fp32"], texts)[1]
        rows = []
        for name, model in models.items():
            same, alone = sameness(model, texts)
            row: dict[str, Any] = {"form": name, "same": same}
            row["near"] = float((alone * exact).sum(axis=1).min())
            row["ms"] = {
                shape: {"least": min(taken), "median": float(np.median(taken))}
                for shape, taken in times[name].items()
            }
            row["ndcg@10"] = {judged.name: quality(model, judged) for judged in sets}
            print(json.dumps(row), flush=True)
            rows.append(row)
    return rows


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown; times are least / median in ms."""
    names = list(rows[0]["ndcg@10"])
    lines = [
        "| form | " + " | ".join([*SHAPES, "same", "near", *names]) + " |",
        "|---" * (3 + len(SHAPES) + len(names)) + "|",
    ]
    for row in rows:
        taken = [f"{row['ms'][s]['least']:.1f} / {row['ms'][s]['median']:.1f}" for s in SHAPES]
        cosines = [f"{row['same']:.5f}", f"{row['near']:.4f}"]
        scores = [f"{row['ndcg@10'][name]:.4f}" for name in names]
        lines.append("| " + " | ".join([row["form"], *taken, *cosines, *scores]) + " |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure and write ``embedder.json`` and ``embedder.md``."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--out", type=Path, default=Path("bench/results"))
    args = parser.parse_args()
    folder = evaldata()
    if folder is None:
        raise SystemExit("the evaluation sets are absent: set RAGBASE_EVALDATA to their folder")
    logging.getLogger().setLevel(logging.ERROR)  # the quantisers advise on preprocessing
    rows = measure(args, [read_set(folder / name) for name in args.sets])
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "embedder.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    (args.out / "embedder.md").write_text(table(rows), encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
