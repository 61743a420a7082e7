"""Local models as the API uses them, on real files: errors of the product, tasks beside each other.

`make test-gguf` installs what they need; with ``gguf`` in RAGBASE_REQUIRE they may not be skipped.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from bench.gguf_models import (
    CHAT,
    EMBEDDING,
    OTHER_EMBEDDING,
    QUANTIZED,
    RERANKER,
    gguf_folder,
    missing,
)
from ragbase.clients.gguf import GgufInfo, GgufModel, GgufModels
from ragbase.clients.inprocess_gguf import open_gguf
from ragbase.errors import (
    InvalidInputError,
    NotFoundError,
    RagBaseError,
    UnavailableError,
    UpstreamError,
)
from ragbase.settings import Settings

REQUIRED = "gguf" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Links to the models, and two files that are none."""
    if why := missing():
        pytest.fail(why) if REQUIRED else pytest.skip(why)
    made = tmp_path_factory.mktemp("models")
    for file in gguf_folder().glob("*/*.gguf"):
        link = made / file.relative_to(gguf_folder())
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(file)
    (made / "embedding" / "broken.gguf").write_bytes(b"GGUF")
    (made / "reranker" / "wrong.gguf").symlink_to(gguf_folder() / "chat" / f"{CHAT}.gguf")
    return made


def settings(folder: Path, **values: object) -> Settings:
    return Settings(  # type: ignore[call-arg]
        localrag_models_dir=folder, localrag_model_threads=1, localrag_chat_tokens=1024, **values
    )


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def gguf(folder: Path) -> AsyncIterator[GgufModels]:
    models: GgufModels = open_gguf(settings(folder))
    yield models
    await models.aclose()


async def refused(error: type[RagBaseError], code: str, work: object) -> RagBaseError:
    with pytest.raises(error) as caught:
        await work  # type: ignore[misc]
    assert caught.value.code == code
    assert "/" not in caught.value.message, "no path is told"
    return caught.value


async def test_all_three_kinds_answer(gguf: GgufModels) -> None:
    vectors = await gguf.embed(EMBEDDING, ["a harbour", "a ship"])
    assert vectors.shape == (2, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    scores = await gguf.rerank(f"{RERANKER}.gguf", "a harbour", ["a ship", "a cat", "a ship"])
    assert scores[0] == pytest.approx(scores[2], abs=1e-6)
    assert scores[0] != scores[1]
    assert isinstance(await gguf.chat(CHAT, "The capital of France is", max_tokens=4), str)
    assert await gguf.info(EMBEDDING, "embedding") == GgufInfo(EMBEDDING, "embedding", 512, 384)
    assert await gguf.count_tokens(EMBEDDING, "embedding", ["", "a harbour"]) == [2, 4]


async def test_the_listing_is_by_folder_and_tells_what_is_loaded(gguf: GgufModels) -> None:
    await gguf.load(OTHER_EMBEDDING, "embedding")
    rows = await gguf.models()
    assert [(row.kind, row.name) for row in rows] == [
        ("chat", CHAT),
        ("embedding", EMBEDDING),
        ("embedding", QUANTIZED),
        ("embedding", "broken"),
        ("embedding", OTHER_EMBEDDING),
        ("reranker", RERANKER),
        ("reranker", "wrong"),
    ]
    assert GgufModel(OTHER_EMBEDDING, "embedding", loaded=True) in rows
    await gguf.unload(f"{OTHER_EMBEDDING}.gguf")
    assert GgufModel(OTHER_EMBEDDING, "embedding", loaded=False) in await gguf.models()


async def test_each_failure_is_an_error_of_the_product(gguf: GgufModels) -> None:
    """L21, L22."""
    assert not await gguf.has("../embedding/broken", "embedding")
    await refused(NotFoundError, "model_not_found", gguf.embed("nothing", ["a"]))
    await refused(NotFoundError, "model_not_found", gguf.embed(CHAT, ["a"]))
    await refused(NotFoundError, "model_not_loaded", gguf.unload("nothing"))
    await refused(UpstreamError, "model_unusable", gguf.load("broken", "embedding"))
    await refused(InvalidInputError, "model_wrong_kind", gguf.rerank("wrong", "a", ["b"]))
    long = await refused(InvalidInputError, "text_too_long", gguf.embed(EMBEDDING, ["a " * 700]))
    assert "702" in long.message
    assert (await gguf.embed(EMBEDDING, ["a " * 700], cut=True)).shape == (1, 384)
    await refused(InvalidInputError, "text_too_long", gguf.chat(CHAT, "a " * 3000))


async def test_a_model_beyond_the_memory_bound_is_told(folder: Path) -> None:
    small = open_gguf(settings(folder, localrag_models_memory_bytes=200 * 1024**2))
    try:
        error = await refused(UpstreamError, "model_too_large", small.load(CHAT, "chat"))
        assert "LOCALRAG_MODELS_MEMORY_BYTES" in error.message
    finally:
        await small.aclose()


async def test_tasks_beside_each_other_get_their_own_models_answers(folder: Path) -> None:
    """L19. Loads and unloads run in between."""
    own = open_gguf(settings(folder))
    texts = [f"text {n}" for n in range(5)]
    try:
        expected = {name: await own.embed(name, texts) for name in (EMBEDDING, OTHER_EMBEDDING)}

        async def client(seed: int) -> None:
            for turn in range(10):
                name = (EMBEDDING, OTHER_EMBEDDING)[(seed + turn) % 2]
                if (seed + turn) % 5 == 0:
                    try:
                        await own.unload(name)
                    except NotFoundError:
                        continue
                at = (seed * turn) % len(texts)
                assert np.array_equal((await own.embed(name, [texts[at]]))[0], expected[name][at])

        await asyncio.gather(*(client(seed) for seed in range(8)))
    finally:
        await own.aclose()


async def test_after_the_end_nothing_is_asked(folder: Path) -> None:
    own = open_gguf(settings(folder))
    await own.load(OTHER_EMBEDDING, "embedding")
    await own.aclose()
    with pytest.raises(UnavailableError):
        await own.embed(OTHER_EMBEDDING, ["a"])
