"""Models: listed, loaded, unloaded; GGUF files and those that are served anyway."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from ...model_server import Stub, running
from .conftest import SERVED, OpenLocalrag
from .stub_models import CHAT, EMBEDDING, RERANKER, StubModels

MINILM = f"sentence-transformers/{SERVED}"


@pytest.fixture
def reranker_url() -> Iterator[str]:
    with running(Stub(model_type={"reranker": {}})) as stub:
        yield stub.url


async def listed(client: httpx.AsyncClient) -> list[tuple[str, str, bool]]:
    answer = await client.get("/v1/models")
    assert answer.status_code == 200
    assert all(set(row) == {"name", "type", "loaded"} for row in answer.json())
    return [(row["name"], row["type"], row["loaded"]) for row in answer.json()]


async def test_the_list_is_a_bare_array_by_folder_with_the_served_models(
    open_localrag: OpenLocalrag, gguf: StubModels, reranker_url: str
) -> None:
    """`loaded` of a served one means that it answers."""
    _, client = await open_localrag(gguf=gguf, reranker_url=reranker_url)
    assert await listed(client) == [
        (CHAT, "chat", False),
        (EMBEDDING, "embedding", False),
        (MINILM, "embedding", True),
        (RERANKER, "reranker", False),
        ("default", "reranker", True),
    ]


async def test_no_files_are_no_error(rag: httpx.AsyncClient) -> None:
    assert (MINILM, "embedding", True) in await listed(rag)


@pytest.mark.parametrize("suffix", ["", ".gguf"])
async def test_load_and_unload_take_names_with_the_suffix_or_without(
    local: httpx.AsyncClient, suffix: str
) -> None:
    """L18."""
    name = CHAT + suffix
    for _ in range(2):
        loaded = await local.post("/v1/models/load", json={"model": name, "type": "chat"})
        assert (loaded.status_code, loaded.json()) == (
            200,
            {"message": "Model loaded successfully"},
        )
    assert (CHAT, "chat", True) in await listed(local)
    unloaded = await local.post("/v1/models/unload", json={"model": name})
    assert (unloaded.status_code, unloaded.json()) == (
        200,
        {"message": "Model unloaded successfully"},
    )
    assert (CHAT, "chat", False) in await listed(local)
    again = await local.post("/v1/models/unload", json={"model": name})
    assert (again.status_code, again.json()) == (404, {"error": "Model not found or not loaded"})


@pytest.mark.parametrize("kind", ["Chat", "llm", "embedding ", "../chat"])
async def test_other_types_are_refused(local: httpx.AsyncClient, kind: str) -> None:
    answer = await local.post("/v1/models/load", json={"model": CHAT, "type": kind})
    assert (answer.status_code, answer.json()) == (
        400,
        {"error": "Type must be either 'embedding', 'reranker', or 'chat'"},
    )


@pytest.mark.parametrize(
    "name", ["../../secrets", "chat/talker", "/etc/passwd", "talker.gguf.gguf", "TALKER", "."]
)
async def test_names_come_from_the_listing_only(
    local: httpx.AsyncClient, tmp_path: object, name: str
) -> None:
    """L21: no path is made of a name, and none is told."""
    answer = await local.post("/v1/models/load", json={"model": name, "type": "chat"})
    assert (answer.status_code, answer.json()) == (
        404,
        {"error": f"Model '{name}' not found in models directory"},
    )
    assert str(tmp_path) not in answer.text


async def test_a_model_is_of_its_folders_type(local: httpx.AsyncClient) -> None:
    answer = await local.post("/v1/models/load", json={"model": CHAT, "type": "reranker"})
    assert answer.status_code == 404


async def test_models_in_use_are_those_of_the_list(local: httpx.AsyncClient) -> None:
    """L17: one registry; what requests loaded is shown as loaded and can be unloaded."""
    await local.post("/v1/store", json={"document": "alpha beta", "generateContexts": True})
    await local.post("/v1/retrieve", json={"query": "alpha"})
    assert {row[0] for row in await listed(local) if row[2]} >= {CHAT, EMBEDDING, RERANKER}
    for name in (CHAT, EMBEDDING, RERANKER):
        assert (await local.post("/v1/models/unload", json={"model": name})).status_code == 200
    assert {row[0] for row in await listed(local) if row[2]} == {MINILM}


async def test_a_served_model_that_does_not_answer_is_not_told_as_loaded(
    open_localrag: OpenLocalrag,
) -> None:
    _, client = await open_localrag(reranker_url="http://127.0.0.1:9")
    assert ("default", "reranker", False) in await listed(client)
    loaded = await client.post("/v1/models/load", json={"model": "default", "type": "reranker"})
    assert (loaded.status_code, "default" in loaded.json()["error"]) == (503, True)


@pytest.mark.parametrize("name", [SERVED, MINILM])
async def test_served_models_count_as_loaded_and_cannot_be_unloaded(
    rag: httpx.AsyncClient, name: str
) -> None:
    loaded = await rag.post("/v1/models/load", json={"model": name, "type": "embedding"})
    assert loaded.status_code == 200
    unloaded = await rag.post("/v1/models/unload", json={"model": name})
    assert unloaded.status_code == 400
    assert "served" in unloaded.json()["error"]
