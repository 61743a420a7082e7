"""``ragbase-inference serve`` with models that torch runs, asked over HTTP."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from huggingface_hub import close_session
from langchain_huggingface import HuggingFaceEndpointEmbeddings

from ragbase_inference.kinds import NerText
from ragbase_inference.pooling import unit_rows

from .conftest import Open
from .models import make_classifier, make_embedding, make_gliner, make_qwen
from .texts import LONG, QUERY, TEXTS


@contextmanager
def serving(*flags: str) -> Iterator[httpx.Client]:
    """A server as a process; it must end well when told to."""
    given = ["--device", "cpu", "--port", "0", "--hostname", "127.0.0.1", "--log-format", "json"]
    command = [sys.executable, "-m", "ragbase_inference", "serve", *flags, *given]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port(process)}", timeout=60) as client:
                yield client
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0


def port(process: subprocess.Popen[str]) -> int:
    """Of the line that says where it listens."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        words = json.loads(line)["event"].split() if line.startswith("{") else []
        if words[:1] == ["listening"]:
            return int(words[-1])
    raise AssertionError(f"it ended with {process.wait()}: {''.join(seen[-20:])}")


@pytest.fixture(scope="module")
def torch_server(models: Callable[..., Path]) -> Iterator[httpx.Client]:
    made = {"embedder": make_embedding, "cross": make_classifier, "qwen": make_qwen}
    flags = [f"--model={name}={models(make)}" for name, make in made.items()]
    with serving("--backend", "torch", *flags) as client:
        yield client


def test_embed(torch_server: httpx.Client, models: Callable[..., Path], opened: Open) -> None:
    model = opened(models(make_embedding))
    expected = unit_rows(model.embed(model.encode(TEXTS, cut="right")))
    answer = torch_server.post("/embed", json={"inputs": TEXTS})
    np.testing.assert_allclose(answer.json(), expected, atol=1e-4)
    info = torch_server.get("/info").json()
    assert (info["model_dtype"], info["max_input_length"]) == ("float32", 128)


@pytest.mark.parametrize(("name", "make"), [("cross", make_classifier), ("qwen", make_qwen)])
def test_rerank(
    name: str,
    make: Callable[..., Path],
    torch_server: httpx.Client,
    models: Callable[..., Path],
    opened: Open,
) -> None:
    model = opened(models(make))
    logits = model.logits(model.encode_pairs([(QUERY, text) for text in TEXTS], cut="right"))[:, 0]
    body = {"query": QUERY, "texts": TEXTS}
    rows = torch_server.post(f"/models/{name}/rerank", json=body).json()
    assert [row["index"] for row in rows] == np.argsort(-logits, kind="stable").tolist()
    expected = 1 / (1 + np.exp(-logits))
    for row in rows:
        assert row["score"] == pytest.approx(expected[row["index"]], abs=1e-4)
    raw = torch_server.post(f"/models/{name}/rerank", json={**body, "raw_scores": True}).json()
    for row in raw:
        assert row["score"] == pytest.approx(logits[row["index"]], abs=1e-4)


def test_ner(models: Callable[..., Path], opened: Open) -> None:
    folder = models(make_gliner)
    model = opened(folder, backend="auto")
    text, labels = f"😀 {LONG}", ["person", "city"]
    (expected,) = model.spans([NerText(text, tuple(labels), 0.3)])
    with serving("--model", f"ner={folder}") as client:
        body = {"texts": [text, "a dog"], "labels": labels, "threshold": 0.3}
        results = client.post("/v1/ner", json=body).json()["results"]
    found = results[0]["spans"]
    assert found
    assert [(one["start"], one["end"], one["label"]) for one in found] == [
        (one.start, one.end, one.label) for one in expected
    ]
    assert all(text[one["start"] : one["end"]] == one["text"] for one in found)


def test_langchains_client_of_tei_works_unchanged(
    torch_server: httpx.Client, models: Callable[..., Path], opened: Open
) -> None:
    model = opened(models(make_embedding))
    expected = unit_rows(model.embed(model.encode(TEXTS, cut="right")))
    client = HuggingFaceEndpointEmbeddings(model=str(torch_server.base_url))
    try:
        np.testing.assert_allclose(client.embed_documents(TEXTS), expected, atol=1e-4)
        np.testing.assert_allclose(client.embed_query(TEXTS[0]), expected[0], atol=1e-4)
    finally:
        close_session()  # its connections are kept for the process
