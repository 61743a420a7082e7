"""``/healthz`` and ``/metrics`` over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ragbase_operator.handlers.heartbeat import Heartbeat
from ragbase_operator.handlers.metrics import Metrics

__all__ = ["serving"]


@asynccontextmanager
async def serving(
    host: str, health_port: int, metrics_port: int, heartbeat: Heartbeat, metrics: Metrics
) -> AsyncIterator[tuple[int, int]]:
    """Serve both; gives the ports that are used (0 asks for free ones)."""

    async def healthz(_: web.Request) -> web.Response:
        text = f"heartbeat seen {heartbeat.age_s:.0f} s ago\n"
        return web.Response(text=text, status=200 if heartbeat.healthy else 503)

    async def scrape(_: web.Request) -> web.Response:
        metrics.watch_age.set(heartbeat.age_s)
        body = generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    health, numbers = web.Application(), web.Application()
    health.router.add_get("/healthz", healthz)
    numbers.router.add_get("/metrics", scrape)
    runners = [web.AppRunner(health, access_log=None), web.AppRunner(numbers, access_log=None)]
    try:
        ports = [
            await _start(runner, host, port)
            for runner, port in zip(runners, (health_port, metrics_port), strict=True)
        ]
        yield ports[0], ports[1]
    finally:
        for runner in runners:
            await runner.cleanup()


async def _start(runner: web.AppRunner, host: str, port: int) -> int:
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return int(runner.addresses[0][1])
