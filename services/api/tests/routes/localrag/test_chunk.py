"""`POST /v1/chunk`: windows of words, their vectors, and contexts on request."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from ragbase.clients.embedder import Embedder

from ...llm_server import Say, Talker, talking
from .conftest import SERVED, OpenLocalrag
from .stub_models import CHAT, EMBEDDING, StubModels, vector


@pytest.fixture
def talker() -> Iterator[Talker]:
    with talking(Talker()) as server:
        yield server


async def chunks(client: httpx.AsyncClient, text: str, **fields: Any) -> list[dict[str, Any]]:
    answer = await client.post("/v1/chunk", json={"text": text, "model": EMBEDDING, **fields})
    assert answer.status_code == 200, answer.text
    made: list[dict[str, Any]] = answer.json()["chunks"]
    return made


def words(count: int) -> str:
    return " ".join(f"w{number}" for number in range(count))


async def test_a_chunk_has_the_contracts_fields_without_a_context(
    rag: httpx.AsyncClient, embedder: Embedder
) -> None:
    answer = await rag.post("/v1/chunk", json={"text": "Ships  moor\nhere.", "model": SERVED})
    assert answer.status_code == 200
    (chunk,) = answer.json()["chunks"]
    assert set(answer.json()) == {"chunks"}
    assert set(chunk) == {"content", "context", "content_embedding", "metadata", "scores"}
    assert (chunk["content"], chunk["context"]) == ("Ships moor here.", "")
    assert chunk["metadata"] == {"file_id": "", "folder_id": None, "has_context": False}
    assert chunk["scores"] == {"content": 0, "context": 0, "combined": 0}
    expected = (await embedder.embed_passages(["Ships moor here."]))[0]
    assert np.allclose(chunk["content_embedding"], expected, atol=1e-6)


async def test_a_chunk_with_a_context_has_both_vectors(local: httpx.AsyncClient) -> None:
    (chunk,) = await chunks(local, "ships moor here", generateContexts=True)
    assert chunk["context"] == "About ships moor here"
    assert np.allclose(chunk["context_embedding"], vector("About ships moor here", 8), atol=1e-6)
    assert np.allclose(chunk["content_embedding"], vector("ships moor here", 8), atol=1e-6)
    assert chunk["metadata"]["has_context"] is True


async def test_windows_step_by_size_less_overlap_and_lose_line_breaks(
    local: httpx.AsyncClient,
) -> None:
    made = await chunks(local, words(10).replace(" ", "\n\n"), chunkSize=4, overlap=1)
    assert [chunk["content"] for chunk in made] == [
        "w0 w1 w2 w3",
        "w3 w4 w5 w6",
        "w6 w7 w8 w9",
    ]


async def test_the_defaults_are_500_words_and_50_of_overlap(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    gguf.max_tokens = 2000
    _, client = await open_localrag(gguf=gguf)
    first, second = await chunks(client, words(600))
    assert len(first["content"].split()) == 500
    assert second["content"].split()[0] == "w450"


@pytest.mark.parametrize(("count", "expected"), [(460, 1), (500, 1), (501, 2), (950, 2), (951, 3)])
async def test_no_window_lies_in_the_one_before(
    open_localrag: OpenLocalrag, gguf: StubModels, count: int, expected: int
) -> None:
    """L10: 460 words are one chunk, not two; blanks at the ends make no words."""
    gguf.max_tokens = 2000
    _, client = await open_localrag(gguf=gguf)
    made = await chunks(client, f" \n {words(count)} \t ")
    assert len(made) == expected
    assert made[0]["content"].startswith("w0 ")
    assert made[-1]["content"].endswith(f" w{count - 1}")
    assert all(chunk["content"].strip() for chunk in made)


async def test_each_text_is_embedded_once(local: httpx.AsyncClient, gguf: StubModels) -> None:
    """L13: equal chunks share one vector; a chunk without a context has no second one."""
    made = await chunks(local, "a b " * 6, chunkSize=2, overlap=0)
    assert len(made) == 6
    assert gguf.embedded == ["a b"]


async def test_contexts_are_written_once_each_and_see_document_and_chunk(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    """L11; the prompt holds the whole document, temperature 0, at most 200 tokens."""
    text = words(9)
    made = await chunks(local, text, chunkSize=3, overlap=0, generateContexts=True)
    assert len(gguf.prompts) == 3
    assert all(f"<document>\n{text}\n</document>" in prompt for prompt in gguf.prompts)
    assert {prompt.split("<chunk>\n")[1].split("\n")[0] for prompt in gguf.prompts} == {
        chunk["content"] for chunk in made
    }
    assert set(gguf.options) == {(200, 0.0)}
    assert [chunk["context"] for chunk in made] == [
        "About w0 w1 w2",
        "About w3 w4 w5",
        "About w6 w7 w8",
    ]


async def test_contexts_are_written_a_bounded_number_at_a_time(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """L12, L20: whatever the number of chunks."""
    gguf.delay_s = 0.005
    _, client = await open_localrag(
        gguf=gguf, localrag_chat_model=CHAT, localrag_context_parallel=3
    )
    await chunks(client, words(60), chunkSize=2, overlap=0, generateContexts=True)
    assert len(gguf.prompts) == 30
    assert gguf.peak == 3


async def test_an_empty_context_is_no_context(local: httpx.AsyncClient, gguf: StubModels) -> None:
    """L26: nothing empty is embedded; the second vector is absent."""
    gguf.write = lambda prompt: "" if "<chunk>\na b" in prompt else " said \n twice "
    first, second = await chunks(local, "a b c d", chunkSize=2, overlap=0, generateContexts=True)
    assert (first["context"], "context_embedding" in first) == ("", False)
    assert first["metadata"]["has_context"] is False
    assert second["context"] == "said twice"
    assert gguf.embedded == ["a b", "c d", "said twice"]


async def test_one_failing_context_fails_the_request(
    local: httpx.AsyncClient, gguf: StubModels, logged: list[dict[str, Any]]
) -> None:
    """Unlike in the first API; and nothing of the exception's text leaves the log."""

    def write(prompt: str) -> str:
        if "<chunk>\nw4" in prompt:
            raise ValueError("S3CRET")
        return "fine"

    gguf.write = write
    answer = await local.post(
        "/v1/chunk",
        json={
            "text": words(10),
            "model": EMBEDDING,
            "chunkSize": 2,
            "overlap": 0,
            "generateContexts": True,
        },
    )
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"
    assert "S3CRET" not in answer.text
    assert "unexpected_error" in [line["event"] for line in logged]


@pytest.mark.parametrize("missing", ["", 0, None, False])
async def test_values_that_are_false_count_as_missing(
    local: httpx.AsyncClient, gguf: StubModels, missing: object
) -> None:
    """§1, but L9: 0 is a number of words."""
    gguf.max_tokens = 2000
    fields = dict.fromkeys(("generateContexts", "useOpenAI"), missing)
    if missing != 0 or missing is False:
        fields |= {"chunkSize": missing, "overlap": missing}
    first, second = await chunks(local, words(600), **fields)
    assert (len(first["content"].split()), gguf.prompts) == (500, [])
    assert second["content"].split()[0] == "w450"
    body = {"text": "a b", "model": EMBEDDING, "chunkSize": 0}
    assert (await local.post("/v1/chunk", json=body)).status_code == 400


async def test_windows_that_the_model_cannot_take_are_shorter_and_that_is_told(
    local: httpx.AsyncClient,
) -> None:
    """L25: 500 words are more than this model's 64 tokens; nothing is lost or cut silently."""
    answer = await local.post("/v1/chunk", json={"text": words(300), "model": EMBEDDING})
    made = answer.json()["chunks"]
    assert [note["code"] for note in answer.json()["warnings"]] == ["chunks_shortened"]
    assert all(len(chunk["content"].split()) <= 62 for chunk in made)
    seen = {word for chunk in made for word in chunk["content"].split()}
    assert seen == set(words(300).split())


async def test_the_defaults_work_with_the_served_model_on_english_text(
    rag: httpx.AsyncClient, embedder: Embedder
) -> None:
    """L25: 700 English words, whose 500 are more than the model's 256 tokens."""
    text = "The harbourmaster's extraordinary regulations concern vessels awaiting pilotage. " * 80
    answer = await rag.post("/v1/chunk", json={"text": text, "model": SERVED})
    assert answer.status_code == 200
    limit = (await embedder.info()).passage_tokens
    counts = embedder.tokenizer.count([chunk["content"] for chunk in answer.json()["chunks"]])
    assert max(counts) <= limit


async def test_contexts_longer_than_the_model_takes_are_cut_and_that_is_told(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    gguf.write = lambda _: words(100)
    answer = await local.post(
        "/v1/chunk", json={"text": "a b", "model": EMBEDDING, "generateContexts": True}
    )
    (chunk,) = answer.json()["chunks"]
    assert [note["code"] for note in answer.json()["warnings"]] == ["contexts_cut"]
    assert chunk["context"] == words(62)


async def test_long_documents_are_shown_to_the_chat_model_in_windows(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """A prompt never holds more of the document than the setting says."""
    _, client = await open_localrag(
        gguf=gguf, localrag_chat_model=CHAT, localrag_context_document_tokens=256
    )
    gguf.max_tokens = 4000
    made = await chunks(client, words(2000), chunkSize=400, overlap=0, generateContexts=True)
    assert len(gguf.prompts) == len(made) == 5
    for prompt in gguf.prompts:
        assert len(prompt.split("</document>")[0]) < 256 * 5


async def test_openai_that_is_not_configured_is_refused(rag: httpx.AsyncClient) -> None:
    """L15: also when no contexts are asked for, and before a model is looked for."""
    answer = await rag.post(
        "/v1/chunk", json={"text": "a", "model": "no-such-model", "useOpenAI": True}
    )
    error = answer.json()["error"]
    assert answer.status_code == 400
    assert (error["type"], error["param"], error["code"]) == (
        "configuration_error",
        "useOpenAI",
        None,
    )


async def test_openai_writes_contexts_where_it_is_configured(
    open_localrag: OpenLocalrag, gguf: StubModels, talker: Talker
) -> None:
    """One user message, temperature 0, at most 200 tokens, by the model of the setting."""
    talker.answer = lambda _, prompt: f" By OpenAI: {len(prompt)} "
    _, client = await open_localrag(
        gguf=gguf,
        localrag_openai_api_key="sk-test",
        localrag_openai_base_url=f"{talker.url}/v1",
        localrag_openai_model_name="gpt-4o-mini",
    )
    made = await chunks(
        client, words(4), chunkSize=2, overlap=0, generateContexts=True, useOpenAI=True
    )
    assert all(chunk["context"].startswith("By OpenAI: ") for chunk in made)
    assert gguf.prompts == []
    assert len(talker.calls) == 2
    for call in talker.calls:
        assert call.headers["authorization"] == "Bearer sk-test"
        assert call.payload["model"] == "gpt-4o-mini"
        assert call.payload["temperature"] == 0.0
        assert call.payload["max_output_tokens"] == 200
        assert [message["role"] for message in call.messages] == ["user"]


async def test_openai_contexts_that_meet_their_bound_are_kept(
    open_localrag: OpenLocalrag, gguf: StubModels, talker: Talker
) -> None:
    talker.always = Say("A long context that was", end="length")
    _, client = await open_localrag(
        gguf=gguf,
        localrag_openai_api_key="sk-test",
        localrag_openai_base_url=talker.url,
    )
    (chunk,) = await chunks(client, "a b", generateContexts=True, useOpenAI=True)
    assert chunk["context"] == "A long context that was"


async def test_the_language_model_of_the_first_api_serves_use_openai_too(
    open_localrag: OpenLocalrag, gguf: StubModels, talker: Talker
) -> None:
    _, client = await open_localrag(gguf=gguf, llm_base_url=talker.url)
    (chunk,) = await chunks(client, "a b", generateContexts=True, useOpenAI=True)
    assert chunk["context"].startswith("About ")
    assert len(talker.calls) == 1


async def test_a_missing_model_is_404_without_a_path(
    rag: httpx.AsyncClient, tmp_path: object
) -> None:
    """L21, L22: names only from the listing; shape O has the code."""
    for name in ("nope", "../../etc/passwd", "embedding/x", "/etc/passwd"):
        answer = await rag.post("/v1/chunk", json={"text": "a", "model": name})
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (404, "model_not_found")
        assert error["message"] == f"Model '{name}' not found in models directory"
        assert str(tmp_path) not in answer.text


async def test_a_chat_model_embeds_nothing(local: httpx.AsyncClient) -> None:
    answer = await local.post("/v1/chunk", json={"text": "a", "model": CHAT})
    assert answer.status_code == 404


async def test_a_broken_model_file_is_a_server_error(
    local: httpx.AsyncClient, gguf: StubModels
) -> None:
    gguf.broken.add(EMBEDDING)
    answer = await local.post("/v1/chunk", json={"text": "a", "model": EMBEDDING})
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "server_error"
    assert EMBEDDING in answer.json()["error"]["message"]


async def test_names_are_taken_with_the_suffix_or_without(local: httpx.AsyncClient) -> None:
    for name in (EMBEDDING, f"{EMBEDDING}.gguf"):
        answer = await local.post("/v1/chunk", json={"text": "a", "model": name})
        assert answer.status_code == 200


async def test_a_thousand_chunks_take_bounded_memory(
    open_localrag: OpenLocalrag, gguf: StubModels
) -> None:
    """Vectors stay arrays up to the bytes of the answer; the real model is in bench/localrag_memory."""
    gguf.dimension, gguf.max_tokens = 384, 2000
    _, client = await open_localrag(gguf=gguf)
    body = {"text": words(60_000), "model": EMBEDDING, "chunkSize": 60, "overlap": 0}
    tracemalloc.start()
    try:
        answer = await client.post("/v1/chunk", json=body)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(answer.json()["chunks"]) == 1000
    assert peak < 10 * len(answer.content)
    assert peak < 100 * 2**20
