"""Models for llama.cpp itself: `make test-gguf`.

Without them these tests are skipped; with ``gguf`` in RAGBASE_REQUIRE they fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.gguf_models import gguf_folder, missing
from ragbase_inference.gguf.models import GgufModels
from ragbase_inference.gguf.options import GgufOptions

REQUIRED = "gguf" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()
OPTIONS = GgufOptions(threads=1, chat_context=1024, wait_s=60.0)
"""One thread a model: threads that wait for one another spin."""


@pytest.fixture(scope="session")
def gguf_root() -> Path:
    """Folder with chat, embedding and reranker."""
    if why := missing():
        pytest.fail(why) if REQUIRED else pytest.skip(why)
    return gguf_folder()


@pytest.fixture(scope="session")
def models(gguf_root: Path) -> Iterator[GgufModels]:
    """Models that the tests share; a test that counts what is loaded opens its own."""
    models = GgufModels(gguf_root, OPTIONS)
    yield models
    models.close()
