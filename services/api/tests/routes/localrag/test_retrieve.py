"""`POST /v1/retrieve`: 60/40 on the stored vectors, an inclusive threshold, then a reranker."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .conftest import OpenLocalrag
from .stub_models import CHAT, EMBEDDING, RERANKER, StubModels, vector
from .test_files import store


async def retrieve(client: httpx.AsyncClient, query: str, **fields: Any) -> dict[str, Any]:
    answer = await client.post("/v1/retrieve", json={"query": query, **fields})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def rows(client: httpx.AsyncClient, query: str, **fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await retrieve(client, query, **fields))["results"]
    return found


def cosine(one: str, other: str) -> float:
    return float(vector(one, 8).astype("f8") @ vector(other, 8).astype("f8"))


async def test_a_row_has_the_contracts_fields(local: httpx.AsyncClient) -> None:
    stored = await store(local, "alpha beta", folder_id="f")
    found = await retrieve(local, "alpha", shouldRerank=False)
    assert set(found) == {"message", "results"}
    assert found["message"] == "Chunks retrieved successfully"
    (row,) = found["results"]
    assert row["metadata"] == {"file_id": stored["file_id"], "folder_id": "f"}
    assert (row["content"], row["context"]) == ("alpha beta", "alpha beta")
    assert set(row["scores"]) == {"content", "context", "combined"}
    assert row["scores"]["combined"] == pytest.approx(cosine("alpha", "alpha beta"), abs=1e-6)


async def test_combined_is_60_40_of_content_and_context(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    gguf.write = lambda _: "gamma"
    await store(local, "alpha beta", generateContexts=True)
    (row,) = await rows(local, "alpha", shouldRerank=False)
    scores = row["scores"]
    assert scores["content"] == pytest.approx(cosine("alpha", "alpha beta"), abs=1e-6)
    assert scores["context"] == pytest.approx(cosine("alpha", "gamma"), abs=1e-6)
    assert scores["combined"] == pytest.approx(
        0.6 * scores["content"] + 0.4 * scores["context"], abs=1e-12
    )


async def test_the_weight_is_a_setting(open_localrag: OpenLocalrag, gguf: StubModels) -> None:
    _, client = await open_localrag(
        gguf=gguf,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
        localrag_content_weight=0.0,
    )
    gguf.write = lambda _: "alpha"
    await store(client, "gamma", generateContexts=True)
    (row,) = await rows(client, "alpha", shouldRerank=False)
    assert row["scores"]["combined"] == row["scores"]["context"] == pytest.approx(1.0, abs=1e-6)


async def test_three_rows_are_the_default_best_first(local: httpx.AsyncClient) -> None:
    for text in ("gamma delta", "alpha beta", "alpha", "alpha beta gamma", "beta"):
        await store(local, text)
    found = await rows(local, "alpha", shouldRerank=False)
    assert [row["content"] for row in found] == ["alpha", "alpha beta", "alpha beta gamma"]
    assert len(await rows(local, "alpha", shouldRerank=False, top_k=5)) == 5


async def test_the_threshold_is_inclusive(local: httpx.AsyncClient) -> None:
    for text in ("alpha", "alpha beta", "alpha beta gamma"):
        await store(local, text)
    found = await rows(local, "alpha", shouldRerank=False)
    edge = found[1]["scores"]["combined"]
    at = await rows(local, "alpha", shouldRerank=False, threshold=edge)
    assert [row["content"] for row in at] == ["alpha", "alpha beta"]
    above = await rows(local, "alpha", shouldRerank=False, threshold=edge + 1e-9)
    assert [row["content"] for row in above] == ["alpha"]


async def test_the_threshold_is_on_combined_also_where_a_reranker_ran(
    local: httpx.AsyncClient,
) -> None:
    await store(local, "alpha beta")
    (row,) = await rows(local, "alpha")
    combined = row["scores"]["combined"]
    assert row["scores"]["reranked"] == 1.0 > combined
    assert await rows(local, "alpha", threshold=min(1.0, combined + 0.01)) == []


@pytest.mark.parametrize("missing", ["", 0, None, False])
async def test_values_that_are_false_count_as_missing(
    local: httpx.AsyncClient, gguf: StubModels, missing: object
) -> None:
    """§1: the default is taken; so 0 rows are 3."""
    for number in range(5):
        await store(local, f"alpha {number}")
    fields = dict.fromkeys(("folder_id", "top_k", "threshold", "rerankerModel"), missing)
    assert len(await rows(local, "alpha", **fields)) == 3
    assert len(gguf.ranked) == 1
    (row, *_) = await rows(local, "alpha", shouldRerank=missing)
    assert ("reranked" in row["scores"]) == (missing is not False), "a switch can be switched off"


@pytest.mark.parametrize("top_k", [-1, 101, 1.5, "3", True, [], {}])
async def test_other_counts_are_refused(rag: httpx.AsyncClient, top_k: object) -> None:
    """L23."""
    answer = await rag.post("/v1/retrieve", json={"query": "a", "top_k": top_k})
    assert answer.status_code == 400
    assert "top_k" in answer.json()["error"]


@pytest.mark.parametrize("threshold", ["-0.1", "1.1", '"0.5"', "true", "[0.5]", "1e400", "NaN"])
async def test_thresholds_lie_between_0_and_1(rag: httpx.AsyncClient, threshold: str) -> None:
    answer = await rag.post(
        "/v1/retrieve",
        content=f'{{"query": "q", "threshold": {threshold}}}',
        headers={"content-type": "application/json"},
    )
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "Threshold must be a number between 0 and 1"},
    )


async def test_negative_similarities_drop_out_by_themselves(
    served: httpx.AsyncClient,
) -> None:
    await store(served, "Quarterly earnings rose.")
    whole = await rows(served, "Quarterly earnings rose.", top_k=100)
    assert len(whole) == 1
    opposite = await rows(served, "xylophone zebra umbrella", top_k=100)
    assert all(row["scores"]["combined"] >= 0 for row in opposite)


async def test_a_folder_is_matched_exactly(local: httpx.AsyncClient) -> None:
    await store(local, "alpha one", folder_id="f")
    await store(local, "alpha two", folder_id="F")
    await store(local, "alpha three")
    assert [row["content"] for row in await rows(local, "alpha", folder_id="f")] == ["alpha one"]
    assert await rows(local, "alpha", folder_id="none") == []
    assert len(await rows(local, "alpha", folder_id="")) == 3


async def test_nothing_stored_gives_no_rows(rag: httpx.AsyncClient) -> None:
    assert await rows(rag, "alpha") == []


# Reranking


async def test_a_reranker_sees_more_than_top_k_orders_then_cuts(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """L3: candidates max(4 · top_k, 20), sorted by `reranked`; L1: scores on their own rows."""
    for number in range(30):
        await store(local, f"alpha alpha t{number}")
    await store(local, "beta alpha")
    gguf.score = lambda _, text: 1.0 if text.startswith("beta") else 0.25
    found = await rows(local, "alpha", top_k=2)
    assert [len(texts) for texts in gguf.ranked] == [20]
    best = [row["content"] for row in await rows(local, "alpha", top_k=31, shouldRerank=False)]
    assert gguf.ranked[0] == best[:20]
    assert [row["scores"]["reranked"] for row in found] == sorted(
        (row["scores"]["reranked"] for row in found), reverse=True
    )
    await rows(local, "alpha", top_k=8)
    wider = gguf.ranked[-1]
    assert len(wider) == 31
    (first, *_) = await rows(local, "alpha", top_k=8)
    assert (first["content"], first["scores"]["reranked"]) == ("beta alpha", 1.0)


async def test_equal_rerank_scores_keep_the_order_of_combined(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    for text in ("alpha beta", "alpha", "alpha beta gamma"):
        await store(local, text)
    gguf.score = lambda *_: 0.5
    assert [row["content"] for row in await rows(local, "alpha")] == [
        "alpha",
        "alpha beta",
        "alpha beta gamma",
    ]


async def test_the_reranker_is_a_setting_and_a_field(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """L4: neither the chat model nor a fixed file."""
    gguf.files["reranker"].append("second")
    await store(local, "alpha")
    await rows(local, "alpha")
    assert [name for kind, name in gguf.loaded if kind == "reranker"] == [RERANKER]
    await rows(local, "alpha", rerankerModel="second")
    assert [name for kind, name in gguf.loaded if kind == "reranker"] == [RERANKER, "second"]
    assert "chat" not in [kind for kind, _ in gguf.loaded]


async def test_a_named_reranker_that_is_missing_is_404(local: httpx.AsyncClient) -> None:
    answer = await local.post("/v1/retrieve", json={"query": "q", "rerankerModel": CHAT})
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": f"Model '{CHAT}' not found in models directory"},
    )


async def test_a_missing_default_reranker_degrades_and_that_is_told(
    served: httpx.AsyncClient,
) -> None:
    """L5: the defaults never fail for want of a file."""
    await store(served, "Ships moor at the north quay.")
    found = await retrieve(served, "where do boats tie up")
    codes = [note["code"] for note in found["warnings"]]
    assert codes == ["served_model_used", "reranker_unavailable"]
    assert set(found["results"][0]["scores"]) == {"content", "context", "combined"}


async def test_a_default_reranker_that_fails_degrades_and_that_is_told(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """L5."""
    await store(local, "alpha")
    gguf.broken.add(RERANKER)
    found = await retrieve(local, "alpha")
    assert [note["code"] for note in found["warnings"]] == ["reranker_unavailable"]
    assert "reranked" not in found["results"][0]["scores"]


async def test_the_answer_of_the_index_is_that_of_a_full_scan(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """L24: the same rows in the same order, contexts or not; recall at size is in bench/localrag."""
    gguf.write = lambda prompt: prompt.partition("<chunk>\n")[2].split()[1]
    text = " ".join(f"w{n * 7 % 83} w{n * 5 % 61} w{n % 13}" for n in range(120))
    await store(local, text, chunkSize=3, overlap=0, generateContexts=True)
    await store(local, text[::-1], chunkSize=3, overlap=0)
    found = await rows(local, "w1 w5 w12", shouldRerank=False, top_k=100)
    scores = [row["scores"]["combined"] for row in found]
    assert scores == sorted(scores, reverse=True)
    assert len(found) == 100
