"""Asking an operator's metrics whether it is well, over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from ragbase_operator.commands.check import NotWellError, check

AGE = "# TYPE ragbase_operator_watch_age_seconds gauge\nragbase_operator_watch_age_seconds {}\n"


@asynccontextmanager
async def _serving(answers: Callable[[], tuple[int, str]]) -> AsyncIterator[str]:
    async def metrics(_: web.Request) -> web.Response:
        status, text = answers()
        return web.Response(status=status, text=text)

    app = web.Application()
    app.router.add_get("/metrics", metrics)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/metrics"
    finally:
        await runner.cleanup()


async def test_the_age_of_a_working_watch() -> None:
    async with _serving(lambda: (200, AGE.format(12.5))) as url:
        assert await check(url, 0) == 12.5


@pytest.mark.parametrize(
    ("status", "text", "why"),
    [
        (200, AGE.format(91), "showed nothing for 91 s"),
        (200, "# TYPE other gauge\nother 1\n", "not an operator"),
        (503, "", "answers 503"),
    ],
)
async def test_why_it_is_not_well(status: int, text: str, why: str) -> None:
    async with _serving(lambda: (status, text)) as url:
        with pytest.raises(NotWellError, match=why):
            await check(url, 0)


async def test_nobody_there() -> None:
    async with _serving(lambda: (200, "")) as url:
        pass
    with pytest.raises(NotWellError, match="does not answer"):
        await check(url, 0)


async def test_it_is_asked_again_until_it_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragbase_operator.commands.check._PAUSE_S", 0.01)
    answers = iter([(503, ""), (200, AGE.format(95)), (200, AGE.format(1))])
    async with _serving(lambda: next(answers)) as url:
        assert await check(url, 30) == 1
