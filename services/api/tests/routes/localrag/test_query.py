"""`POST /v1/query`: 60/40 on two vectors, then a reranker; in chunks that are sent along."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import pytest

from .conftest import OpenLocalrag
from .stub_models import CHAT, EMBEDDING, RERANKER, StubModels, vector


def chunk(content: str, like: str, context: str | None = None, **more: Any) -> dict[str, Any]:
    """A chunk whose vectors are those of other texts."""
    made: dict[str, Any] = {"content": content, "content_embedding": vector(like, 8).tolist()}
    if context is not None:
        made |= {"context": "c", "context_embedding": vector(context, 8).tolist()}
    return {**made, **more}


async def ask(
    client: httpx.AsyncClient, chunks: list[dict[str, Any]], query: str = "alpha", **fields: Any
) -> dict[str, Any]:
    body = {"query": query, "chunks": chunks, "embeddingModel": EMBEDDING, **fields}
    answer = await client.post("/v1/query", json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def cosine(one: str, other: str) -> float:
    return float(vector(one, 8).astype(np.float64) @ vector(other, 8).astype(np.float64))


async def test_combined_is_60_40_of_both_cosines(local: httpx.AsyncClient) -> None:
    (row,) = (await ask(local, [chunk("x", "alpha beta", "alpha", metadata={"n": [1]})]))["results"]
    scores = row["scores"]
    assert scores["content"] == pytest.approx(cosine("alpha", "alpha beta"), abs=1e-6)
    assert scores["context"] == pytest.approx(1.0, abs=1e-6)
    assert scores["combined"] == pytest.approx(
        0.6 * scores["content"] + 0.4 * scores["context"], abs=1e-12
    )
    assert row["metadata"] == {"n": [1]}
    assert set(row) == {"content", "context", "metadata", "scores"}
    assert set(scores) == {"content", "context", "combined"}


async def test_without_a_context_combined_is_the_content(local: httpx.AsyncClient) -> None:
    (row,) = (await ask(local, [chunk("x", "alpha beta")]))["results"]
    assert set(row["scores"]) == {"content", "combined"}
    assert row["scores"]["combined"] == row["scores"]["content"]


async def test_the_weight_is_a_setting(open_localrag: OpenLocalrag, gguf: StubModels) -> None:
    _, client = await open_localrag(gguf=gguf, localrag_content_weight=0.25)
    (row,) = (await ask(client, [chunk("x", "alpha", "beta")]))["results"]
    scores = row["scores"]
    assert scores["combined"] == pytest.approx(
        0.25 * scores["content"] + 0.75 * scores["context"], abs=1e-12
    )


async def test_the_best_four_come_first(local: httpx.AsyncClient) -> None:
    texts = ["alpha", "alpha beta", "alpha beta gamma", "beta", "gamma", "beta gamma"]
    rows = (await ask(local, [chunk(text, text) for text in reversed(texts)]))["results"]
    assert [row["content"] for row in rows[:3]] == texts[:3]
    assert len(rows) == 4
    assert len((await ask(local, [chunk(t, t) for t in texts], topK=2))["results"]) == 2


async def test_no_chunks_give_no_results(local: httpx.AsyncClient) -> None:
    assert await ask(local, []) == {"results": []}


async def test_rerank_scores_stand_on_their_own_chunks_and_give_the_order(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """L1: the worst by vector is the best by the reranker, and keeps its own scores."""
    chunks = [chunk("nothing here", "alpha"), chunk("alpha at last", "gamma")]
    rows = (await ask(local, chunks, rerankerModel=RERANKER))["results"]
    assert [row["content"] for row in rows] == ["alpha at last", "nothing here"]
    assert [row["scores"]["reranked"] for row in rows] == [1.0, 0.0]
    assert rows[0]["scores"]["combined"] < rows[1]["scores"]["combined"]


async def test_rerank_happens_before_the_cut(local: httpx.AsyncClient) -> None:
    chunks = [chunk(f"other {n}", "alpha") for n in range(10)] + [chunk("alpha", "gamma")]
    (row,) = (await ask(local, chunks, rerankerModel=RERANKER, topK=1))["results"]
    assert row["content"] == "alpha"


@pytest.mark.parametrize(("top_k", "scored"), [(1, 20), (5, 20), (6, 24), (20, 50)])
async def test_the_reranker_sees_a_bounded_number(
    local: httpx.AsyncClient, gguf: StubModels, top_k: int, scored: int
) -> None:
    """L2: max(4 · topK, 20), however many are sent."""
    chunks = [chunk(f"text {n}", "alpha") for n in range(50)]
    await ask(local, chunks, rerankerModel=RERANKER, topK=top_k)
    assert [len(texts) for texts in gguf.ranked] == [scored]


async def test_should_rerank_needs_a_model_and_can_be_off(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    for fields in ({"shouldRerank": True}, {"shouldRerank": False, "rerankerModel": RERANKER}):
        (row,) = (await ask(local, [chunk("alpha", "alpha")], **fields))["results"]
        assert "reranked" not in row["scores"]
    assert gguf.ranked == []


async def test_blank_chunks_are_not_ranked_and_come_last(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    chunks = [chunk(" ", "alpha"), chunk("gamma", "gamma")]
    rows = (await ask(local, chunks, rerankerModel=RERANKER))["results"]
    assert [row["content"] for row in rows] == ["gamma", " "]
    assert gguf.ranked == [["gamma"]]


@pytest.mark.parametrize("missing", ["", 0, None, False])
async def test_values_that_are_false_count_as_missing(
    local: httpx.AsyncClient, missing: object
) -> None:
    """§1: the default is taken, but metadata come back as they were sent."""
    chunks = [chunk(f"text {n}", "alpha") | {"metadata": missing} for n in range(6)]
    found = await ask(local, chunks, topK=missing, rerankerModel=missing)
    assert len(found["results"]) == 4
    assert [row["metadata"] for row in found["results"]] == [missing] * 4
    for field in ("query", "embeddingModel", "chunks"):
        body = {"query": "a", "embeddingModel": EMBEDDING, "chunks": [], field: missing}
        answer = await local.post("/v1/query", json=body)
        assert (answer.status_code, answer.json()["error"]["param"]) == (400, field)


async def test_a_vector_of_zeros_has_null_scores(local: httpx.AsyncClient) -> None:
    rows = (
        await ask(local, [chunk("z", "x") | {"content_embedding": [0.0] * 8}, chunk("y", "y")])
    )["results"]
    assert [row["content"] for row in rows] == ["y", "z"]
    assert rows[1]["scores"] == {"content": None, "combined": None}


async def test_vectors_of_any_length_are_compared_by_cosine(local: httpx.AsyncClient) -> None:
    """Those that callers send need not be unit vectors, and huge ones do not overflow."""
    like = vector("alpha", 8)
    chunks = [chunk("huge", "alpha") | {"content_embedding": (like * 1e30).tolist()}]
    (row,) = (await ask(local, chunks))["results"]
    assert row["scores"]["content"] == pytest.approx(1.0, abs=1e-6)
    chunks[0]["content_embedding"] = [value * 1e300 for value in like.tolist()]
    (row,) = (await ask(local, chunks))["results"]
    assert row["scores"]["content"] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ({"content": "x"}, "Chunk missing content embedding"),
        ({"content": "x", "content_embedding": None}, "Chunk missing content embedding"),
        ({"content": "x", "content_embedding": [1.0] * 7}, "Vectors must have the same length"),
        ({"content": "x", "content_embedding": []}, "Vectors must have the same length"),
    ],
)
async def test_vectors_that_cannot_be_compared_are_500_with_the_contracts_text(
    local: httpx.AsyncClient, broken: dict[str, Any], text: str
) -> None:
    body = {"query": "q", "chunks": [chunk("y", "y"), broken], "embeddingModel": EMBEDDING}
    answer = await local.post("/v1/query", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["message"]) == (500, text)
    assert (error["type"], error["param"], error["code"]) == ("server_error", None, None)


@pytest.mark.parametrize("bad", [["a"], "text", [1.0, None], [[1.0]], {"0": 1.0}])
async def test_what_is_no_vector_is_the_callers_fault(
    local: httpx.AsyncClient, bad: object
) -> None:
    body = {"query": "q", "chunks": [{"content": "x", "content_embedding": bad}]}
    answer = await local.post("/v1/query", json={**body, "embeddingModel": EMBEDDING})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "chunks")


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"embeddingModel": "gone"}, "gone"),
        ({"embeddingModel": CHAT}, CHAT),
        ({"rerankerModel": "gone"}, "gone"),
        ({"rerankerModel": EMBEDDING}, EMBEDDING),
    ],
)
async def test_models_of_other_names_and_kinds_are_404(
    local: httpx.AsyncClient, fields: dict[str, str], name: str
) -> None:
    """L22."""
    body = {"query": "q", "chunks": [], "embeddingModel": EMBEDDING, **fields}
    answer = await local.post("/v1/query", json=body)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (404, "model_not_found")
    assert error["message"] == f"Model '{name}' not found in models directory"


async def test_a_file_that_ranks_nothing_is_500(local: httpx.AsyncClient, gguf: StubModels) -> None:
    gguf.broken.add(RERANKER)
    body = {"query": "q", "chunks": [chunk("y", "y")], "embeddingModel": EMBEDDING}
    answer = await local.post("/v1/query", json={**body, "rerankerModel": RERANKER})
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"


async def test_what_chunk_answers_query_takes(local: httpx.AsyncClient) -> None:
    made = await local.post(
        "/v1/chunk",
        json={
            "text": "alpha beta gamma delta",
            "model": EMBEDDING,
            "chunkSize": 2,
            "overlap": 0,
            "generateContexts": True,
        },
    )
    rows = (await ask(local, made.json()["chunks"], query="gamma delta"))["results"]
    assert rows[0]["content"] == "gamma delta"
    assert rows[0]["context"] == "About gamma delta"
    assert rows[0]["metadata"] == {"file_id": "", "folder_id": None, "has_context": True}
