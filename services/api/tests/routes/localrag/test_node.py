"""The contract's flows by a client of another language: ``client.mjs``, Node's own fetch."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from ragbase.main_localrag import create_localrag_app
from ragbase.settings import Settings

from .stub_models import CHAT, EMBEDDING, RERANKER, StubModels

CLIENT = Path(__file__).with_name("client.mjs")


@pytest_asyncio.fixture
async def url(database_url: str, serve) -> AsyncIterator[str]:
    """URL of the second API on a real socket."""
    settings = Settings(
        database_url=database_url,
        pool_min=0,
        workers=0,
        localrag_embedding_model=EMBEDDING,
        localrag_chat_model=CHAT,
        localrag_reranker_model=RERANKER,
    )
    yield await asyncio.to_thread(serve, create_localrag_app(settings, gguf=StubModels()))


async def test_a_node_client_runs_the_contracts_flows(url: str) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    process = await asyncio.create_subprocess_exec(
        node,
        str(CLIENT),
        url,
        EMBEDDING,
        RERANKER,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, err.decode()
    assert out.decode().strip() == "all flows passed"
