"""Which model embeds the files, and what happens when it is another one than before."""

from __future__ import annotations

import httpx
import pytest

from ragbase.errors import ConfigurationError
from ragbase.settings.localrag import EMBEDDING_GGUF
from ragbase.storage.pool import Connection

from .conftest import OpenLocalrag
from .stored import listed, store
from .stub_models import EMBEDDING, StubModels


@pytest.mark.parametrize("dimension", [3, 384, 1024])
async def test_vectors_have_the_dimension_of_the_model(
    open_localrag: OpenLocalrag, gguf: StubModels, connection: Connection, dimension: int
) -> None:
    """L31: nothing is fixed at 384; each model gets its indexes, as long as pgvector has them."""
    gguf.dimension = dimension
    _, client = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    stored = await store(client, "alpha")
    assert len(stored["chunks"][0]["content_embedding"]) == dimension
    indexes = await connection.fetch(
        "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%hnsw%' AND indexdef LIKE $1",
        f"%vector({dimension})%",
    )
    assert len(indexes) >= 2
    found = await client.post("/v1/retrieve", json={"query": "alpha", "shouldRerank": False})
    assert len(found.json()["results"]) == 1


async def test_another_model_than_the_stored_vectors_is_refused(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """L31: at the start, with what to do, and without harm to what is stored."""
    _, first = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    stored = await store(first, "alpha")
    gguf.files["embedding"].append("other")
    with pytest.raises(ConfigurationError, match="LOCALRAG_EMBEDDING_MODEL"):
        await open_localrag(gguf=gguf, localrag_embedding_model="other")
    await open_localrag(gguf=gguf, localrag_embedding_model=f"{EMBEDDING}.gguf")
    assert (await listed(first))["pagination"]["total_items"] == 1
    await first.post("/v1/delete", json={"file_id": stored["file_id"]})
    _, second = await open_localrag(gguf=gguf, localrag_embedding_model="other")
    await store(second, "beta")


async def test_a_model_made_sure_of_before_the_first_file_does_not_mix_with_its_model(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """L31: two processes of different settings, started on an empty store."""
    gguf.files["embedding"].append("other")
    _, first = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    _, second = await open_localrag(gguf=gguf, localrag_embedding_model="other")
    asked = await second.post("/v1/retrieve", json={"query": "alpha", "shouldRerank": False})
    assert asked.status_code == 200
    await store(first, "alpha")
    refused = await second.post("/v1/store", json={"document": "beta"})
    assert (refused.status_code, "LOCALRAG_EMBEDDING_MODEL" in refused.text) == (500, True)
    assert (await listed(first))["pagination"]["total_items"] == 1
    found = await first.post("/v1/retrieve", json={"query": "alpha", "shouldRerank": False})
    assert len(found.json()["results"]) == 1


async def test_a_file_that_became_another_model_is_refused(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """L31: of the same name, with other dimensions."""
    _, first = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    await store(first, "alpha")
    gguf.dimension = 16
    _, second = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    answer = await second.post("/v1/store", json={"document": "beta"})
    assert answer.status_code == 500
    assert "16 dimensions" in answer.json()["error"]
    assert (await listed(second))["pagination"]["total_items"] == 1


async def test_a_file_replaced_by_a_model_of_another_dimension_is_refused_until_files_are_gone(
    open_localrag: OpenLocalrag, gguf: StubModels, connection: Connection
) -> None:
    """L31: while the server runs, with what to do; nothing that is stored is lost by it."""
    _, client = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    stored = await store(client, "alpha")
    gguf.dimension, gguf.version = 16, "second"
    for path, body in (
        ("/v1/store", {"document": "beta"}),
        ("/v1/retrieve", {"query": "alpha", "shouldRerank": False}),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 500
        assert "16 dimensions" in answer.json()["error"]
        assert "Put the former file back" in answer.json()["error"]
        assert "delete the collection localrag" in answer.json()["error"]
    assert (await listed(client))["pagination"]["total_items"] == 1
    gguf.dimension, gguf.version = 8, "back"
    found = await client.post("/v1/retrieve", json={"query": "alpha", "shouldRerank": False})
    assert len(found.json()["results"]) == 1
    gguf.dimension, gguf.version = 16, "third"
    await client.post("/v1/delete", json={"file_id": stored["file_id"]})
    fresh = await store(client, "beta")
    assert len(fresh["chunks"][0]["content_embedding"]) == 16
    found = await client.post("/v1/retrieve", json={"query": "beta", "shouldRerank": False})
    assert len(found.json()["results"]) == 1
    kinds = await connection.fetch(
        "SELECT indexdef FROM pg_indexes WHERE indexdef LIKE '%hnsw%' AND indexdef LIKE '%vector(16)%'"
    )
    assert len(kinds) == 2
    gguf.dimension, gguf.version = 8, "back again"
    answer = await client.post("/v1/store", json={"document": "beta"})
    assert (answer.status_code, "8 dimensions" in answer.json()["error"]) == (500, True)


async def test_a_file_replaced_by_another_model_of_the_same_shape_is_refused(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """L31: its vectors would stand beside others that they cannot be compared with."""
    _, client = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    await store(client, "alpha beta gamma")
    gguf.salt, gguf.version = "a", "second"
    for path, body in (
        ("/v1/store", {"document": "beta"}),
        ("/v1/retrieve", {"query": "alpha", "shouldRerank": False}),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 500
        assert "Put the former file back" in answer.json()["error"]
    gguf.version = "after a start"
    _, later = await open_localrag(gguf=gguf, localrag_embedding_model=EMBEDDING)
    assert (await later.post("/v1/store", json={"document": "beta"})).status_code == 500
    made = await client.post("/v1/chunk", json={"text": "alpha", "model": EMBEDDING})
    assert made.status_code == 200, "what is not stored is compared with nothing"


async def test_the_same_model_in_another_file_goes_on(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """Copied anew, or touched: its vectors are those that are stored."""
    await store(local, "alpha beta gamma")
    gguf.version = "second"
    await store(local, "delta")
    assert (await listed(local))["pagination"]["total_items"] == 2


async def test_a_file_replaced_while_a_document_is_stored_leaves_nothing_behind(
    local: httpx.AsyncClient, gguf: StubModels, connection: Connection
) -> None:
    """No file has vectors of two models: the caller is told to send it again."""

    def write(prompt: str) -> str:
        gguf.version = "second"
        return "said"

    gguf.write = write
    answer = await local.post("/v1/store", json={"document": "alpha", "generateContexts": True})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert await connection.fetchval("SELECT count(*) FROM documents") == 0
    await store(local, "alpha", generateContexts=True)


async def test_the_default_model_gives_way_to_the_served_one_and_says_so(
    served: httpx.AsyncClient,
) -> None:
    stored = await store(served, "Ships moor at the north quay.")
    assert [note["code"] for note in stored["warnings"]] == ["served_model_used"]
    assert len(stored["chunks"][0]["content_embedding"]) == 384


async def test_a_default_file_that_comes_later_leaves_stored_files_as_they_are(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """Else pulling it would fail every call until it is removed."""
    gguf.files["embedding"] = []
    _, client = await open_localrag(gguf=gguf)
    await store(client, "alpha")
    gguf.files["embedding"] = [EMBEDDING_GGUF]
    stored = await store(client, "beta")
    assert [each["code"] for each in stored["warnings"]] == ["stored_model_used"]
    found = await client.post("/v1/retrieve", json={"query": "alpha", "shouldRerank": False})
    assert len(found.json()["results"]) == 2
    for row in (await listed(client))["data"]:
        await client.post("/v1/delete", json={"file_id": row["file_id"]})
    fresh = await store(client, "gamma")
    assert "warnings" not in fresh
    assert len(fresh["chunks"][0]["content_embedding"]) == gguf.dimension


async def test_a_chosen_model_does_not_give_way(open_localrag: OpenLocalrag) -> None:
    """L22, L33: what somebody set and what is not there is 404."""
    _, client = await open_localrag(localrag_embedding_model="gone")
    answer = await client.post("/v1/store", json={"document": "a"})
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": "Model 'gone' not found in models directory"},
    )


async def test_without_a_chat_model_contexts_are_404_and_nothing_is_stored(
    served: httpx.AsyncClient,
) -> None:
    """L33: CHAT_MODEL can be set; its default is one place's."""
    answer = await served.post("/v1/store", json={"document": "a", "generateContexts": True})
    assert (answer.status_code, answer.json()["error"]) == (
        404,
        "Model 'Llama-3.2-1B-Instruct-Q4_K_M' not found in models directory",
    )
    assert (await listed(served))["data"] == []


async def test_openai_that_is_not_configured_is_refused(local: httpx.AsyncClient) -> None:
    """L15: not answered by the local model unsaid."""
    answer = await local.post("/v1/store", json={"document": "a", "useOpenAI": True})
    assert answer.status_code == 400
    assert "useOpenAI" in answer.json()["error"]
