"""The second API on real GGUF files: store, retrieve, rerank, end to end by llama.cpp.

`make test-gguf` installs what they need; with ``gguf`` in RAGBASE_REQUIRE they may not be skipped.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import pytest_asyncio

from bench.gguf_models import CHAT, EMBEDDING, OTHER_EMBEDDING, RERANKER, gguf_folder, missing
from ragbase.clients.embedder import Embedder
from ragbase.clients.inprocess_gguf import open_gguf
from ragbase.settings import Settings

from .conftest import OpenLocalrag

REQUIRED = "gguf" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()
pytestmark = pytest.mark.slow
TEXT = """The harbour of Reykjavik has two quays. Ships moor at the north quay, where the water is deep.
Fishing boats use the south quay. The lighthouse on Grotta was built in 1897 and warns of the reef.
Every spring the harbour master publishes the rules for pilots, tugs and visiting yachts."""


@pytest.fixture(scope="module")
def folder() -> Path:
    """Folder with chat, embedding and reranker."""
    if why := missing():
        pytest.fail(why) if REQUIRED else pytest.skip(why)
    return gguf_folder()


@pytest_asyncio.fixture
async def real(open_localrag: OpenLocalrag, folder: Path) -> httpx.AsyncClient:
    """A client of the second API on these files."""
    _, client = await open_localrag(
        localrag_models_dir=folder,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
        localrag_reranker_model=RERANKER,
        localrag_model_threads=1,
        localrag_chat_tokens=1024,
    )
    client.timeout = httpx.Timeout(240)
    return client


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> dict[str, Any]:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_store_retrieve_rerank_end_to_end(real: httpx.AsyncClient, folder: Path) -> None:
    """Contexts by the chat model, vectors by the embedding model, order by the reranker, whose
    scores are those that llama.cpp itself gives to these texts."""
    stored = await post(
        real, "/v1/store", document=TEXT, chunkSize=30, overlap=4, generateContexts=True
    )
    chunks = stored["chunks"]
    assert "warnings" not in stored
    assert len(chunks) >= 2
    assert all(chunk["metadata"]["has_context"] for chunk in chunks)
    assert all(chunk["context"] != chunk["content"] for chunk in chunks)
    for chunk in chunks:
        for name in ("content_embedding", "context_embedding"):
            assert np.linalg.norm(chunk[name]) == pytest.approx(1.0, abs=1e-4)
    query = "at which quay do ships moor"
    plain = await post(real, "/v1/retrieve", query=query, shouldRerank=False, top_k=10)
    # This model's contexts are noise, and not the same at each run: the contents' scores tell.
    nearest = max(plain["results"], key=lambda row: row["scores"]["content"])
    assert "north quay" in nearest["content"]
    found = await post(real, "/v1/retrieve", query=query, top_k=2)
    scores = [row["scores"]["reranked"] for row in found["results"]]
    assert scores == sorted(scores, reverse=True)
    models = open_gguf(Settings(localrag_models_dir=folder, localrag_model_threads=1))
    try:
        texts = [row["content"] for row in plain["results"]]
        own = await models.rerank(RERANKER, query, texts)
    finally:
        await models.aclose()
    best = [text for _, text in sorted(zip(own, texts, strict=True), reverse=True)]
    assert [row["content"] for row in found["results"]] == best[:2]
    assert scores == pytest.approx(sorted(own, reverse=True)[:2], abs=1e-6)


async def test_vectors_agree_with_onnx(real: httpx.AsyncClient, embedder: Embedder) -> None:
    """Cosine of at least 0.99 with the same model in fp32 by ONNX Runtime."""
    made = await post(real, "/v1/chunk", text=TEXT, model=EMBEDDING, chunkSize=15, overlap=0)
    ours = np.array([chunk["content_embedding"] for chunk in made["chunks"]])
    theirs = await embedder.embed_passages([chunk["content"] for chunk in made["chunks"]])
    assert float((ours * theirs).sum(axis=1).min()) >= 0.99


async def test_windows_keep_to_the_models_real_limit(real: httpx.AsyncClient) -> None:
    """L25: 700 words of long words, by default windows, on a model of few tokens."""
    text = "Extraordinarily unpronounceable Welsh toponymy: Llanfairpwllgwyngyll. " * 120
    made = await post(real, "/v1/chunk", text=text, model=EMBEDDING)
    assert made["warnings"][0]["code"] == "chunks_shortened"
    assert len(made["chunks"]) > 2


async def test_a_file_of_another_kind_is_a_server_error_that_names_it(
    open_localrag: OpenLocalrag, folder: Path, tmp_path: Path
) -> None:
    """The contract's 500; L21: without a path."""
    for kind in ("chat", "embedding", "reranker"):
        (tmp_path / "own" / kind).mkdir(parents=True)
    (tmp_path / "own" / "reranker" / "wrong.gguf").symlink_to(folder / "chat" / f"{CHAT}.gguf")
    (tmp_path / "own" / "embedding" / "broken.gguf").write_bytes(b"GGUF")
    _, client = await open_localrag(localrag_models_dir=tmp_path / "own", localrag_model_threads=1)
    for path, body in (
        ("/v1/models/load", {"model": "wrong", "type": "reranker"}),
        ("/v1/chunk", {"text": "a", "model": "broken"}),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 500
        assert str(tmp_path) not in answer.text
        assert "wrong" in answer.text or "broken" in answer.text
    await client.post("/v1/store", json={"document": "a b"})
    degraded = await client.post("/v1/retrieve", json={"query": "a"})
    assert degraded.status_code == 200


async def test_eight_clients_with_loading_and_unloading_in_between(real: httpx.AsyncClient) -> None:
    """L19: no crash, and no answer by another model than the one that was asked."""
    expected = {
        name: (await post(real, "/v1/chunk", text="ships moor", model=name))["chunks"][0][
            "content_embedding"
        ]
        for name in (EMBEDDING, OTHER_EMBEDDING)
    }
    assert len(expected[EMBEDDING]) != len(expected[OTHER_EMBEDDING])
    stop = asyncio.Event()

    async def ask(number: int) -> int:
        name = (EMBEDDING, OTHER_EMBEDDING)[number % 2]
        count = 0
        while not stop.is_set():
            made = await post(real, "/v1/chunk", text="ships moor", model=name)
            vector = made["chunks"][0]["content_embedding"]
            assert np.allclose(vector, expected[name], atol=1e-5)
            count += 1
        return count

    async def churn() -> None:
        for _ in range(6):
            for name in (EMBEDDING, OTHER_EMBEDDING):
                gone = await real.post("/v1/models/unload", json={"model": name})
                assert gone.status_code in (200, 404)
                back = await real.post("/v1/models/load", json={"model": name, "type": "embedding"})
                assert back.status_code == 200, back.text
        stop.set()

    counts = await asyncio.gather(*(ask(number) for number in range(8)), churn())
    assert all(count for count in counts[:8] if count is not None)
