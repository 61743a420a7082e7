"""`POST /v1/store`, `GET /v1/documents`, `POST /v1/delete`: files in one transaction each."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import httpx
import numpy as np
import pytest

from ragbase.services.localrag import files
from ragbase.storage.pool import Connection, Database

from .conftest import OpenLocalrag
from .stored import listed, store
from .stub_models import CHAT, EMBEDDING, StubModels, vector


async def test_a_stored_file_has_the_contracts_fields(local: httpx.AsyncClient) -> None:
    """L14: the whole text is not repeated."""
    before = datetime.now(UTC) - timedelta(seconds=5)
    stored = await store(local, "alpha beta\n\ngamma delta", folder_id="f", chunkSize=2, overlap=0)
    assert stored["message"] == "Document chunks processed successfully"
    assert len(bytes.fromhex(stored["file_id"])) == 16
    assert stored["folder_id"] == "f"
    assert "warnings" not in stored
    assert [chunk["content"] for chunk in stored["chunks"]] == ["alpha beta", "gamma delta"]
    for index, chunk in enumerate(stored["chunks"]):
        assert set(chunk) == {
            "content",
            "context",
            "content_embedding",
            "context_embedding",
            "metadata",
        }
        assert chunk["context"] == chunk["content"]
        assert chunk["context_embedding"] == chunk["content_embedding"]
        meta = chunk["metadata"]
        timestamp = datetime.fromisoformat(meta.pop("timestamp"))
        assert before < timestamp < datetime.now(UTC) + timedelta(seconds=5)
        assert meta == {
            "file_id": stored["file_id"],
            "folder_id": "f",
            "has_context": False,
            "chunk_index": index,
        }


async def test_without_a_folder_none_is_told(local: httpx.AsyncClient) -> None:
    stored = await store(local, "alpha")
    assert "folder_id" not in stored
    assert stored["chunks"][0]["metadata"]["folder_id"] is None
    assert "folder_id" not in await store(local, "alpha", folder_id="")


async def test_the_whole_text_comes_on_request(local: httpx.AsyncClient) -> None:
    """L14."""
    text = " alpha \n beta "
    stored = await store(local, text, includeDocument=True)
    assert stored["chunks"][0]["metadata"]["document"] == text


async def test_contexts_are_stored_with_vectors_of_their_own(
    local: httpx.AsyncClient, gguf: StubModels, connection: Connection
) -> None:
    """L11: written once each, by the model of the setting."""
    stored = await store(
        local, "alpha beta gamma delta", chunkSize=2, overlap=0, generateContexts=True
    )
    first = stored["chunks"][0]
    assert first["context"] == "About alpha beta"
    assert first["metadata"]["has_context"] is True
    assert np.allclose(first["context_embedding"], vector("About alpha beta", 8), atol=1e-6)
    assert len(gguf.prompts) == 2
    rows = await connection.fetch("SELECT * FROM dataset ORDER BY id")
    assert [row["context"] for row in rows] == ["About alpha beta", "About gamma delta"]
    assert np.allclose(rows[0]["context_embedding"], vector("About alpha beta", 8), atol=1e-6)


async def test_an_empty_context_is_stored_as_none(
    local: httpx.AsyncClient, gguf: StubModels, connection: Connection
) -> None:
    """L26: the content counts for both."""
    gguf.write = lambda prompt: "" if "<chunk>\nalpha" in prompt else "said"
    stored = await store(
        local, "alpha beta gamma delta", chunkSize=2, overlap=0, generateContexts=True
    )
    assert [chunk["context"] for chunk in stored["chunks"]] == ["alpha beta", "said"]
    assert [chunk["metadata"]["has_context"] for chunk in stored["chunks"]] == [False, True]
    kinds = await connection.fetch("SELECT kind, count(*) FROM embeddings GROUP BY 1 ORDER BY 1")
    assert [tuple(row) for row in kinds] == [("content", 2), ("context", 1)]


async def test_each_text_is_embedded_once(local: httpx.AsyncClient, gguf: StubModels) -> None:
    """L13: no second vector is made, or stored, without a context."""
    await store(local, "alpha beta gamma delta", chunkSize=2, overlap=0)
    assert gguf.embedded == ["alpha beta", "gamma delta"]


@pytest.mark.parametrize("times", [1, 2])
async def test_a_collection_deleted_meanwhile_is_made_anew(
    local: httpx.AsyncClient, connection: Connection, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """As if the file had come after that; none of the deleted ones comes back."""
    await store(local, "before")
    deleting(connection, monkeypatch, times)
    stored = await store(local, "alpha beta", chunkSize=1, overlap=0)
    page = await listed(local)
    assert [row["file_id"] for row in page["data"]] == [stored["file_id"]]
    assert await connection.fetchval("SELECT count(*) FROM embeddings") == 2
    found = await local.post("/v1/retrieve", json={"query": "alpha", "shouldRerank": False})
    assert {row["metadata"]["file_id"] for row in found.json()["results"]} == {stored["file_id"]}


async def test_a_collection_that_is_deleted_each_time_is_503_and_leaves_nothing(
    local: httpx.AsyncClient, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleting(connection, monkeypatch, 99)
    answer = await local.post("/v1/store", json={"document": "alpha"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert "Send it again" in answer.json()["error"]
    assert await connection.fetchval("SELECT count(*) FROM documents") == 0


def deleting(connection: Connection, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    """Have the collection deleted by another caller just before a file is written."""
    left = iter(range(times))
    drafted, loop = files._drafts, asyncio.get_running_loop()

    def drafts(*given: Any) -> Any:
        if next(left, None) is not None:
            deleted = connection.execute("DELETE FROM collections WHERE name = 'localrag'")
            asyncio.run_coroutine_threadsafe(deleted, loop).result(30)
        return drafted(*given)

    monkeypatch.setattr(files, "_drafts", drafts)


async def test_a_failure_leaves_nothing_behind(
    open_localrag: OpenLocalrag, gguf: StubModels, connection: Connection, logged: list[Any]
) -> None:
    """L12: contexts are bounded in number, and one that fails leaves no half file."""
    done: list[str] = []

    def write(prompt: str) -> str:
        done.append(prompt)
        if len(done) > 5:
            raise ValueError("broken")
        return "fine"

    gguf.write, gguf.delay_s = write, 0.002
    _, client = await open_localrag(
        gguf=gguf,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
        localrag_context_parallel=2,
    )
    text = " ".join(f"w{n}" for n in range(100))
    body = {"document": text, "chunkSize": 2, "overlap": 0, "generateContexts": True}
    answer = await client.post("/v1/store", json=body)
    assert (answer.status_code, answer.json()) == (500, {"error": "Internal Server Error"})
    assert gguf.peak == 2
    assert len(done) < 10
    assert await connection.fetchval("SELECT count(*) FROM documents") == 0
    assert (await listed(client))["data"] == []


async def test_a_file_appears_whole_or_not_at_all(
    local: httpx.AsyncClient, database_url: str, db: Database
) -> None:
    """L12: one transaction a document: a reader never sees a part of its chunks."""
    text = " ".join(f"w{n}" for n in range(400))
    seen: set[int] = set()
    stop = asyncio.Event()

    async def watch() -> None:
        async with db.acquire() as connection:
            while not stop.is_set():
                seen.add(await connection.fetchval("SELECT count(*) FROM dataset"))

    watching = asyncio.create_task(watch())
    for _ in range(5):
        await store(local, text, chunkSize=2, overlap=0)
    stop.set()
    await watching
    assert seen <= {200 * n for n in range(6)}


async def test_equal_texts_are_files_of_their_own(local: httpx.AsyncClient) -> None:
    ids = {(await store(local, "alpha"))["file_id"] for _ in range(3)}
    assert len(ids) == 3
    assert (await listed(local))["pagination"]["total_items"] == 3


@pytest.mark.parametrize(("length", "status"), [(32, 200), (33, 400)])
async def test_folder_names_have_32_characters_at_most(
    local: httpx.AsyncClient, length: int, status: int
) -> None:
    """L30: told, not failed."""
    answer = await local.post("/v1/store", json={"document": "a", "folder_id": "f" * length})
    assert answer.status_code == status
    if status == 400:
        assert answer.json() == {"error": "folder_id must be a text of at most 32 characters"}


async def test_a_folder_given_as_a_number_is_the_text_of_it(
    local: httpx.AsyncClient, connection: Connection
) -> None:
    """As the original's database made it; types are hardly checked there (§1)."""
    for folder in (5, 5.0, "5"):
        assert (await store(local, "alpha", folder_id=folder))["folder_id"] == "5"
    assert (await listed(local, "?folder_id=5"))["pagination"]["total_items"] == 3
    found = await local.post(
        "/v1/retrieve", json={"query": "alpha", "folder_id": 5, "shouldRerank": False}
    )
    assert [row["metadata"]["folder_id"] for row in found.json()["results"]] == ["5"] * 3
    assert {row["folder_id"] for row in await connection.fetch("SELECT * FROM dataset")} == {"5"}
    for bad in (True, 1.5, ["f"], {"f": 1}, 2**53):
        answer = await local.post("/v1/store", json={"document": "a", "folder_id": bad})
        assert answer.status_code == 400, bad
        assert answer.json() == {"error": "folder_id must be a text of at most 32 characters"}
    for none in (0, False, None, ""):
        assert "folder_id" not in await store(local, "alpha", folder_id=none)


# The list


async def test_the_list_has_one_row_a_file_with_its_first_chunk(local: httpx.AsyncClient) -> None:
    """L6, L7, L8: rows and totals are of files; the number is a number; the order is fixed."""
    ids = [
        (
            await store(
                local, f"t{n} alpha beta gamma", folder_id=f"f{n % 2}", chunkSize=2, overlap=0
            )
        )["file_id"]
        for n in range(5)
    ]
    page = await listed(local)
    assert page["message"] == "Documents retrieved successfully"
    assert page["pagination"] == {
        "current_page": 1,
        "total_pages": 1,
        "total_items": 5,
        "page_size": 10,
    }
    assert [row["file_id"] for row in page["data"]] == ids
    assert page["data"][0] == {
        "file_id": ids[0],
        "folder_id": "f0",
        "content_preview": "t0 alpha",
        "context_preview": "t0 alpha",
    }


async def test_pages_neither_repeat_nor_skip(local: httpx.AsyncClient) -> None:
    """L7."""
    ids = [(await store(local, f"text {n}"))["file_id"] for n in range(7)]
    seen: list[str] = []
    for number in range(1, 5):
        page = await listed(local, f"?page={number}&pageSize=2")
        assert page["pagination"]["total_pages"] == 4
        assert page["pagination"]["current_page"] == number
        seen += [row["file_id"] for row in page["data"]]
    assert seen == ids
    beyond = await listed(local, "?page=99999999999999999999&pageSize=2")
    assert beyond["data"] == []
    assert beyond["pagination"]["total_items"] == 7


@pytest.mark.parametrize(
    ("query", "page", "size"),
    [
        ("", 1, 10),
        ("?page=0", 1, 10),
        ("?page=-3&pageSize=0", 1, 1),
        ("?pageSize=-1", 1, 1),
        ("?pageSize=1000", 1, 100),
        ("?page=&pageSize=", 1, 10),
    ],
)
async def test_pages_are_forced_into_their_bounds(
    rag: httpx.AsyncClient, query: str, page: int, size: int
) -> None:
    pagination = (await listed(rag, query))["pagination"]
    assert (pagination["current_page"], pagination["page_size"]) == (page, size)
    assert (pagination["total_items"], pagination["total_pages"]) == (0, 0)


async def test_folder_and_file_narrow_the_list_together(local: httpx.AsyncClient) -> None:
    one = (await store(local, "a", folder_id="f"))["file_id"]
    two = (await store(local, "b", folder_id="g"))["file_id"]
    await store(local, "c")

    async def found(query: str) -> list[str]:
        page = await listed(local, query)
        ids = [row["file_id"] for row in page["data"]]
        assert page["pagination"]["total_items"] == len(ids)
        return ids

    assert await found("?folder_id=f") == [one]
    assert await found(f"?file_id={two}") == [two]
    assert await found(f"?folder_id=f&file_id={two}") == []
    assert len(await found("?folder_id=&file_id=")) == 3


# Deleting


async def test_a_deleted_file_is_gone_and_deleting_it_again_is_404(
    local: httpx.AsyncClient, connection: Connection
) -> None:
    """L16."""
    stored = await store(local, "alpha beta", generateContexts=True)
    other = await store(local, "gamma")
    body = {"file_id": stored["file_id"]}
    answer = await local.post("/v1/delete", json=body)
    assert (answer.status_code, answer.json()) == (
        200,
        {"message": "Chunks deleted successfully", "file_id": stored["file_id"]},
    )
    again = await local.post("/v1/delete", json=body)
    assert (again.status_code, again.json()) == (
        404,
        {"error": "No chunks found for this file_id"},
    )
    assert [row["file_id"] for row in (await listed(local))["data"]] == [other["file_id"]]
    assert await connection.fetchval("SELECT count(*) FROM embeddings") == 1


async def test_nothing_can_be_deleted_before_anything_is_stored(served: httpx.AsyncClient) -> None:
    """L16."""
    answer = await served.post("/v1/delete", json={"file_id": "0" * 32})
    assert answer.status_code == 404


async def test_the_view_cannot_be_written(connection: Connection) -> None:
    with pytest.raises(asyncpg.PostgresError):
        await connection.execute("INSERT INTO dataset (file_id, content) VALUES ('a', 'b')")
    with pytest.raises(asyncpg.PostgresError):
        await connection.execute("DELETE FROM dataset")
