"""The search that proves readiness, against an HTTP server that answers as an API may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from e2e.cluster.daemon import free_port
from ragbase_operator.reconcile.probe import Counts, HttpProbe, SearchAnswer

FOUND = {"results": [], "degraded": False, "warnings": []}


class Api:
    """An API whose answers a test chooses; ``seen`` are the requests it had."""

    def __init__(self) -> None:
        self.answer: Callable[[], Awaitable[web.Response]] = self.json(FOUND)
        self.seen: list[tuple[str, str, str | None, Any]] = []
        self.url = ""

    @staticmethod
    def json(body: Any, status: int = 200) -> Callable[[], Awaitable[web.Response]]:
        async def answer() -> web.Response:
            return web.json_response(body, status=status)

        return answer

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json() if request.can_read_body else None
        key = request.headers.get("Authorization")
        self.seen.append((request.method, request.path, key, body))
        return await self.answer()


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    served = Api()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", served.handle)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    served.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield served
    await runner.cleanup()


async def test_a_search_is_asked_for_with_the_key(api: Api) -> None:
    assert await HttpProbe().search(api.url, "rb_1_secret") == SearchAnswer(ok=True)
    [(method, path, key, body)] = api.seen
    assert (method, path, key) == ("POST", "/v1/search", "Bearer rb_1_secret")
    assert body["top_k"] == 1
    assert body["rerank"] is False


async def test_without_auth_no_key_is_sent(api: Api) -> None:
    assert (await HttpProbe().search(api.url, None)).ok
    assert api.seen[0][2] is None


async def test_a_degraded_answer_is_one_and_says_what_it_lacks(api: Api) -> None:
    warning = {"code": "embedder_down", "message": "no vectors: the embedder does not answer"}
    api.answer = api.json({**FOUND, "degraded": True, "warnings": [warning]})
    answer = await HttpProbe().search(api.url, "k")
    assert answer == SearchAnswer(ok=True, message=warning["message"])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_named_and_not_shown(api: Api, status: int) -> None:
    api.answer = api.json({"code": "unauthorized"}, status)
    answer = await HttpProbe().search(api.url, "rb_1_secret")
    assert not answer.ok
    assert "refuses the key `probe`" in answer.message
    assert "rb_1_secret" not in answer.message


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"detail": "the schema is old"}, "the schema is old"),
        ({"message": "busy"}, "busy"),
        ({"code": "internal"}, "internal"),
        ({}, "no detail"),
        (["a list"], "no detail"),
    ],
)
async def test_an_error_is_told_in_the_apis_words(api: Api, body: Any, told: str) -> None:
    api.answer = api.json(body, 503)
    answer = await HttpProbe().search(api.url, "k")
    assert (answer.ok, answer.message) == (False, f"{api.url} answers 503: {told}")


async def test_an_answer_that_is_no_json_is_no_crash(api: Api) -> None:
    async def html() -> web.Response:
        return web.Response(text="<html>bad gateway</html>", status=502)

    api.answer = html
    assert "502: no detail" in (await HttpProbe().search(api.url, "k")).message
    assert await HttpProbe().count(api.url, "k") is None


async def test_nobody_there(api: Api) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    answer = await HttpProbe().search(url, "k")
    assert not answer.ok
    assert answer.message.startswith(f"{url} does not answer")
    assert await HttpProbe().count(url, "k") is None


async def test_an_api_that_hangs_is_given_up(api: Api) -> None:
    async def hang() -> web.Response:
        await asyncio.sleep(30)
        return web.json_response(FOUND)

    api.answer = hang
    begun = time.monotonic()
    answer = await HttpProbe(timeout_s=0.3).search(api.url, "k")
    assert "time-out" in answer.message
    assert await HttpProbe(timeout_s=0.3).count(api.url, "k") is None
    assert time.monotonic() - begun < 10


async def test_counts_are_read_and_others_ignored(api: Api) -> None:
    api.answer = api.json({"documents": 3, "chunks": 9, "entities": None, "more": "x"})
    assert await HttpProbe().count(api.url, "k") == Counts(3, 9, 0)
    assert api.seen[0][:2] == ("GET", "/v1/stats")
    for answer in (api.json([]), api.json({"documents": 3}, 500)):
        api.answer = answer
        assert await HttpProbe().count(api.url, "k") is None


async def test_memgraph_is_as_the_apis_health_says(api: Api) -> None:
    for word in ("connected", "error: no answer in 5 s", "disabled"):
        api.answer = api.json({"status": "ok", "memgraph": word})
        assert await HttpProbe().projection(api.url, "rb_1_secret") == word
    assert api.seen[0] == ("GET", "/health", "Bearer rb_1_secret", None)


@pytest.mark.parametrize("body", [{}, [], {"memgraph": 3}, None], ids=str)
async def test_an_api_that_says_nothing_of_memgraph_is_believed_nothing(
    api: Api, body: Any
) -> None:
    api.answer = api.json(body)
    assert await HttpProbe().projection(api.url, None) is None
    api.answer = api.json({"memgraph": "connected"}, status=500)
    assert await HttpProbe().projection(api.url, None) is None
    assert await HttpProbe().projection(f"http://127.0.0.1:{free_port()}", None) is None
