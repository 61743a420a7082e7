"""The client of language models against a scripted server: protocols, faults, deadlines."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from ragbase.clients.llm import Message
from ragbase.clients.llm_remote import RemoteLlm
from ragbase.clients.llm_request import Question, Usage
from ragbase.clients.retry import RetryPolicy
from ragbase.clients.server_role import ServerRole
from ragbase.errors import (
    ConfigurationError,
    DeadlineExceededError,
    LlmInputTooLongError,
    LlmUnavailableError,
    RagBaseError,
    UpstreamError,
)

from ..llm_server import Raw, Refuse, Say, Talker, talking

ROLE = ServerRole("LLM server", "LLM_BASE_URL", "LLM_API_KEY")
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.01)
OBJECT = {"type": "object"}
ASK = Question("What is it?", "Be brief.")


@pytest.fixture(scope="module")
def _server() -> Iterator[Talker]:
    with talking(Talker()) as talker:
        yield talker


@pytest.fixture
def talker(_server: Talker) -> Talker:
    """The server in its first state."""
    _server.__dict__.update(Talker(url=_server.url).__dict__)
    return _server


class Client:
    """Keeps what answers cost."""

    def __init__(self, llm: RemoteLlm) -> None:
        self.llm = llm
        self.spent: list[tuple[Usage | None, str]] = []

    async def ask(self, question: Question = ASK, within_s: float = 10.0) -> str:
        return await self.llm.complete(
            question, within_s=within_s, spent=lambda *each: self.spent.append(each)
        )


@pytest_asyncio.fixture
async def clients() -> AsyncIterator[Any]:
    """Makes clients; they are closed at the end."""
    made: list[RemoteLlm] = []

    def make(url: str, **options: Any) -> Client:
        options = {"model": "acme/talks-1b", "retry": QUICK, **options}
        made.append(RemoteLlm(url, ROLE, **options))
        return Client(made[-1])

    yield make
    for each in made:
        await each.aclose()


# What is sent, and what comes back


async def test_the_responses_api_is_asked_as_the_contract_says(talker: Any, clients: Any) -> None:
    """Contract §11."""
    talker.api_key = "S3CRET"
    client = clients(talker.url, api_key="S3CRET")
    question = replace(ASK, history=(Message("user", "a"), Message("assistant", "b")))
    assert await client.ask(question) == "About 11 characters."
    [call] = talker.calls
    assert call.path == "v1/responses"
    assert call.payload == {
        "model": "acme/talks-1b",
        "input": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "What is it?"},
        ],
        "stream": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    assert call.headers["authorization"] == "Bearer S3CRET"
    assert call.headers["accept"] == "text/event-stream"
    assert client.spent == [(Usage(5, 6, 2), "About 11 characters.")]


async def test_thinking_and_a_bound_on_the_answer_are_sent_where_wished(
    talker: Any, clients: Any
) -> None:
    await clients(talker.url).ask(replace(ASK, thinking=True, tokens=50))
    sent = talker.calls[0].payload
    assert sent["chat_template_kwargs"] == {"enable_thinking": True}
    assert sent["max_output_tokens"] == 50


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
async def test_an_address_may_end_as_openais_clients_take_it(
    talker: Any, clients: Any, suffix: str
) -> None:
    assert await clients(talker.url + suffix).ask()


async def test_chat_completions_where_the_server_lacks_the_other(talker: Any, clients: Any) -> None:
    talker.routes = frozenset({"v1/chat/completions"})
    client = clients(talker.url)
    assert await client.ask() == "About 11 characters."
    assert await client.ask() == "About 11 characters."
    assert talker.paths == ["completions", "completions"]
    assert client.llm.info.api == "chat"
    sent = talker.calls[0].payload
    assert [each["role"] for each in sent["messages"]] == ["system", "user"]
    assert sent["stream_options"] == {"include_usage": True}
    assert client.spent[0] == (Usage(5, 6), "About 11 characters.")


async def test_a_named_protocol_is_the_only_one_tried(talker: Any, clients: Any) -> None:
    talker.routes = frozenset({"v1/chat/completions"})
    with pytest.raises(UpstreamError) as refused:
        await clients(talker.url, api="responses").ask()
    assert refused.value.code == "llm_refused"
    assert talker.calls == []
    assert await clients(talker.url, api="chat").ask()


async def test_texts_come_from_the_final_event_where_no_delta_brought_them(
    talker: Any, clients: Any
) -> None:
    final = (
        b'data: {"type":"response.completed","response":{"status":"completed","output":'
        b'[{"type":"message","content":[{"type":"output_text","text":"Late."}]}]}}\n\n'
        b"data: [DONE]\n\ndata: no json\n\n"
    )
    talker.script.append(Raw(final))
    assert await clients(talker.url).ask() == "Late."


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_a_server_that_does_not_stream_is_read_too(
    talker: Any, clients: Any, api: str
) -> None:
    talker.streams = False
    assert await clients(talker.url, api=api).ask() == "About 11 characters."


@pytest.mark.parametrize(
    "unknown", ["chat_template_kwargs", "stream_options", "max_tokens", "temperature"]
)
async def test_what_a_server_does_not_know_is_left_out_from_then_on(
    talker: Any, clients: Any, unknown: str
) -> None:
    """OpenAI's own servers refuse parameters that they do not know."""
    talker.refuses = frozenset({unknown})
    client = clients(talker.url, api="chat")
    question = replace(ASK, tokens=50, temperature=0.0)
    await client.ask(question)
    await client.ask(question)
    sent = [set(call.payload) for call in talker.calls]
    assert [unknown in each for each in sent] == [True, False, False]
    assert sent[1] == sent[0] - {unknown}


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_a_cut_answer_is_one_only_where_that_was_asked_for(
    talker: Any, clients: Any, api: str
) -> None:
    talker.always = Say("The beginning of", end="length")
    client = clients(talker.url, api=api)
    with pytest.raises(UpstreamError, match="did not finish"):
        await client.ask(replace(ASK, tokens=5))
    assert await client.ask(replace(ASK, tokens=5, partial=True)) == "The beginning of"


# Thinking (B079)


async def test_thinking_in_an_answer_is_removed_and_the_other_protocol_asked_next(
    talker: Any, clients: Any
) -> None:
    """B079: a server that leaves thinking in answers of one protocol may part it in the other."""
    talker.always = Say('<think>Is it {"a": 0}?</think>It is.')
    client = clients(talker.url)
    assert await client.ask() == "It is."
    assert await client.ask() == "It is."
    assert talker.paths == ["responses", "completions"]


@pytest.mark.parametrize("leak", [Say("<think>Never closed {"), Say("", thinking="Only that.")])
async def test_only_thinking_is_no_answer_and_the_other_protocol_is_asked_at_once(
    talker: Any, clients: Any, leak: Say
) -> None:
    """B079: an unclosed tag swallows everything."""
    talker.script.extend([leak, Say("It is.", thinking="Well.")])
    assert await clients(talker.url).ask() == "It is."
    assert talker.paths == ["responses", "completions"]


async def test_only_thinking_in_both_is_an_error_that_says_so(talker: Any, clients: Any) -> None:
    talker.always = Say('<think>{"a": 1}')
    with pytest.raises(UpstreamError, match="only thinking") as unusable:
        await clients(talker.url).ask(replace(ASK, schema=OBJECT))
    assert unusable.value.code == "llm_unusable_answer"


async def test_a_server_that_leaks_and_has_no_other_protocol_is_used_as_it_is(
    talker: Any, clients: Any
) -> None:
    talker.routes = frozenset({"v1/responses"})
    talker.always = Say("<think>x</think>It is.")
    client = clients(talker.url)
    assert [await client.ask() for _ in range(3)] == ["It is."] * 3
    assert set(talker.paths) == {"responses"}


# JSON


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_a_schema_is_sent_and_the_answer_is_its_value(
    talker: Any, clients: Any, api: str
) -> None:
    talker.always = Say('Sure:\n```json\n{"a": 1}\n```')
    client = clients(talker.url, api=api)
    assert await client.ask(replace(ASK, schema=OBJECT)) == '{"a":1}'
    sent = talker.calls[0].payload
    shape = sent["text"]["format"] if api == "responses" else sent["response_format"]
    assert shape["type"] == "json_schema"


async def test_a_schema_that_one_protocol_ignores_is_asked_for_in_the_other(
    talker: Any, clients: Any
) -> None:
    """llama.cpp's Responses API takes ``text.format`` and does not keep to it."""
    talker.script.extend([Say("It is 1."), Say('{"a": 1}'), Say('{"a": 2}'), Say("Plain.")])
    client = clients(talker.url)
    asked = replace(ASK, schema=OBJECT)
    assert [await client.ask(asked), await client.ask(asked)] == ['{"a":1}', '{"a":2}']
    assert await client.ask() == "Plain."
    assert talker.paths == ["responses", "completions", "completions", "responses"]


async def test_half_a_json_value_is_asked_for_again_and_then_an_error(
    talker: Any, clients: Any
) -> None:
    talker.always = Say('{"a": {"b": 1}, "c')
    with pytest.raises(UpstreamError) as unusable:
        await clients(talker.url, api="chat").ask(replace(ASK, schema=OBJECT))
    assert unusable.value.code == "llm_unusable_answer"
    assert len(talker.calls) == 2


# Faults


@pytest.mark.parametrize("api", ["responses", "chat"])
@pytest.mark.parametrize("end", ["cut", "silent", "failed"])
async def test_a_stream_without_its_end_is_an_error_and_retried(
    talker: Any, clients: Any, api: str, end: str
) -> None:
    """R21: a stream that ends without its final event does not count as success."""
    talker.script.extend([Say("A part of the answer only.", end=end), Say("The whole.")])
    assert await clients(talker.url, api=api).ask() == "The whole."
    talker.always = Say("A part of the answer only.", end=end)
    with pytest.raises(LlmUnavailableError):
        await clients(talker.url, api=api).ask()


@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_an_answer_cut_by_its_length_is_unusable(talker: Any, clients: Any, api: str) -> None:
    talker.always = Say("A part", end="length")
    client = clients(talker.url, api=api)
    with pytest.raises(UpstreamError, match="did not finish") as unusable:
        await client.ask()
    assert unusable.value.code == "llm_unusable_answer"
    assert [usage and usage.input for usage, _ in client.spent] == [5, 5], "it cost all the same"


@pytest.mark.parametrize(
    "garbage",
    [
        Raw(b"\x00\xff\xfe not even text"),
        Raw(b"<html>Bad Gateway</html>", "text/html"),
        Raw(b'{"half": ', "application/json"),
        Raw(b"[1, 2]", "application/json"),
        Raw(b"null", "application/json"),
        Raw(b'data: {"choices": 7}\n\ndata: [1]\n\ndata: {"choices": [{"delta": 3}]}\n\n'),
        Raw(b'data: {"type": "response.completed", "response": 3}\n\n'),
        Raw(b'data: {"type": "response.completed", "response": {"output": 3}}\n\n'),
        Raw(b'data: {"type": "response.output_text.delta", "delta": {"a": 1}}\n\n'),
        Raw(b'data: {"type": "error"}\n\n'),
        Raw(b""),
    ],
)
@pytest.mark.parametrize("api", ["responses", "chat"])
async def test_garbage_is_an_error_of_ours_and_nothing_worse(
    talker: Any, clients: Any, api: str, garbage: Raw
) -> None:
    talker.always = garbage
    with pytest.raises((UpstreamError, LlmUnavailableError)):
        await clients(talker.url, api=api).ask()
    talker.always = None
    assert await clients(talker.url, api=api).ask()


async def test_an_endless_answer_is_left(talker: Any, clients: Any) -> None:
    talker.always = Say("again and " * 500, drip_s=0.001)
    with pytest.raises(UpstreamError, match="more than 100 characters"):
        await clients(talker.url, api="chat").ask(replace(ASK, characters=100))


@pytest.mark.parametrize("said", [Say("Late.", wait_s=30), Say("drip " * 500, drip_s=0.05)])
async def test_the_deadline_is_for_all_of_it(talker: Any, clients: Any, said: Say) -> None:
    """R21: 600 s per read, and so without end for a server that drips."""
    talker.always = said
    started = time.monotonic()
    with pytest.raises(DeadlineExceededError) as late:
        await clients(talker.url).ask(within_s=0.5)
    assert time.monotonic() - started < 3
    assert late.value.code == "llm_timeout"


async def test_retries_keep_within_the_deadline(talker: Any, clients: Any) -> None:
    talker.always = Refuse(503)
    retry = RetryPolicy(attempts=100, first_wait_s=0.2, longest_wait_s=0.2)
    started = time.monotonic()
    with pytest.raises(LlmUnavailableError):
        await clients(talker.url, retry=retry).ask(within_s=1.0)
    assert time.monotonic() - started < 3


async def test_a_rate_limit_is_waited_for_as_long_as_asked(talker: Any, clients: Any) -> None:
    talker.script.append(Refuse(429, headers={"retry-after": "1"}))
    client = clients(talker.url)
    assert await client.ask()
    first, second = talker.calls
    assert second.at - first.at >= 0.99


async def test_a_rate_limit_beyond_the_deadline_is_told_with_its_time(
    talker: Any, clients: Any
) -> None:
    talker.always = Refuse(429, headers={"retry-after": "120"})
    with pytest.raises(LlmUnavailableError) as limited:
        await clients(talker.url).ask(within_s=5)
    assert (limited.value.code, limited.value.retry_after) == ("llm_rate_limited", 120)
    assert len(talker.calls) == 1


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_a_server_in_trouble_is_asked_again(talker: Any, clients: Any, status: int) -> None:
    talker.script.extend([Refuse(status), Refuse(status)])
    assert await clients(talker.url).ask()


async def test_a_server_that_is_down_is_unavailable(clients: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(LlmUnavailableError, match="cannot be reached"):
        await clients(f"http://127.0.0.1:{port}").ask()


async def test_a_wrong_key_is_for_a_person_and_is_never_shown(talker: Any, clients: Any) -> None:
    talker.api_key = "other"
    with pytest.raises(UpstreamError) as refused:
        await clients(talker.url, api_key="S3CRET").ask()
    assert refused.value.code == "llm_refused"
    assert "LLM_API_KEY" in refused.value.message
    assert "S3CRET" not in refused.value.message


async def test_an_unknown_model_is_not_taken_for_a_missing_route(talker: Any, clients: Any) -> None:
    talker.always = Refuse(404, b'{"error":{"message":"The model `x` does not exist."}}')
    with pytest.raises(UpstreamError, match="does not exist"):
        await clients(talker.url).ask()
    assert talker.paths == ["responses"]


@pytest.mark.parametrize("refusal", [None, Refuse(413)])
async def test_a_prompt_that_never_fits_is_told_apart(
    talker: Any, clients: Any, refusal: Refuse | None
) -> None:
    talker.context_chars = 10
    talker.always = refusal
    with pytest.raises(LlmInputTooLongError):
        await clients(talker.url).ask()
    assert len(talker.calls) == 1


async def test_leaving_early_closes_the_stream(talker: Any, clients: Any) -> None:
    """So that a server which notices stops to generate."""
    talker.always = Say("on and on " * 1000, drip_s=0.02)
    client = clients(talker.url)
    task = asyncio.create_task(client.ask())
    while not talker.in_flight:  # noqa: ASYNC110 - in another thread
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    for _ in range(200):
        if not talker.in_flight:
            break
        await asyncio.sleep(0.02)
    assert talker.in_flight == 0


# The model's name, pings


async def test_the_only_model_listed_is_used(talker: Any, clients: Any) -> None:
    client = clients(talker.url, model="")
    await client.ask()
    assert talker.calls[0].payload["model"] == "acme/talks-1b"
    assert client.llm.info.model == "acme/talks-1b"


@pytest.mark.parametrize("listed", [[], ["a", "b"]])
async def test_which_of_several_models_must_be_said(
    talker: Any, clients: Any, listed: list[str]
) -> None:
    talker.models = listed
    client = clients(talker.url, model="")
    for call in (client.ask, client.llm.ping):
        with pytest.raises(UpstreamError, match="LLM_MODEL"):
            await call()


async def test_a_ping_costs_no_completion(talker: Any, clients: Any) -> None:
    await clients(talker.url).llm.ping()
    assert (talker.pings, talker.calls) == (1, [])


@pytest.mark.parametrize("url", ["", "ftp://host", "http://host?a=b", "nonsense"])
def test_an_address_that_cannot_work_refuses_the_start(url: str) -> None:
    with pytest.raises(ConfigurationError, match="LLM_BASE_URL"):
        RemoteLlm(url, ROLE)


async def test_every_fault_is_one_of_ours(talker: Any, clients: Any) -> None:
    """Whatever the status, callers see errors that say what to do."""
    for status in (301, 400, 402, 403, 409, 418, 422, 451, 501, 507, 529):
        talker.always = Refuse(status, b"<html>no</html>")
        with pytest.raises(RagBaseError):
            await clients(talker.url).ask()
