"""Times a running API under a number of callers that each wait for their answer (closed loop).

Clock: from handing the request to the HTTP client until the last byte of the answer is here.
The client's own share shows in the floor, `GET /health/live` with the same client and callers.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from ragbase.evaluation.latency import Latency
from ragbase.sdk.calls import search
from ragbase.sdk.options import Mode, SearchOptions
from ragbase.sdk.transport import client_arguments
from ragbase.sdk.wire import encode, error_of

__all__ = ["FLOOR", "LoadMode", "LoadResult", "load_modes", "run_load"]

FLOOR = "floor"


@dataclass(frozen=True, slots=True)
class LoadMode:
    """A named request; without ``bodies`` it is a GET."""

    name: str
    path: str
    bodies: Sequence[bytes] = ()


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Figures of one mode at one number of callers. Failed calls are only counted."""

    mode: str
    concurrency: int
    latency: Latency
    qps: float
    stages: Mapping[str, Latency]
    failures: Mapping[str, int]
    degraded: int

    @property
    def failed(self) -> int:
        """Calls without a usable answer."""
        return sum(self.failures.values())


@dataclass(slots=True)
class _Samples:
    milliseconds: list[float] = field(default_factory=list)
    stages: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    degraded: int = 0


def load_modes(
    queries: Sequence[str], modes: Sequence[Mode], options: SearchOptions
) -> list[LoadMode]:
    """The floor, then each search mode over all queries in turn."""
    searches = []
    for mode in modes:
        calls = [search(query, mode, options) for query in queries]
        searches.append(LoadMode(mode, calls[0].path, [encode(call.body) for call in calls]))
    return [LoadMode(FLOOR, "/health/live"), *searches]


async def run_load(
    url: str,
    api_key: str | None,
    mode: LoadMode,
    *,
    concurrency: int,
    requests: int,
    warmup: int,
    timeout_s: float = 60.0,
    on_call: Callable[[], None] = lambda: None,
) -> LoadResult:
    """Send ``requests`` calls by ``concurrency`` callers after ``warmup`` uncounted ones."""
    async with httpx.AsyncClient(**client_arguments(url, api_key, timeout_s)) as client:
        await _drive(client, mode, concurrency, warmup, _Samples(), lambda: None)
        samples = _Samples()
        started = time.perf_counter()
        await _drive(client, mode, concurrency, requests, samples, on_call)
        elapsed = time.perf_counter() - started
    return LoadResult(
        mode=mode.name,
        concurrency=concurrency,
        latency=Latency.of(samples.milliseconds),
        qps=len(samples.milliseconds) / elapsed if elapsed else 0.0,
        stages={name: Latency.of(times) for name, times in samples.stages.items()},
        failures=dict(samples.failures),
        degraded=samples.degraded,
    )


async def _drive(
    client: httpx.AsyncClient,
    mode: LoadMode,
    concurrency: int,
    requests: int,
    samples: _Samples,
    on_call: Callable[[], None],
) -> None:
    turns = iter(range(requests))

    async def caller() -> None:
        for turn in turns:
            body = mode.bodies[turn % len(mode.bodies)] if mode.bodies else None
            await _call(client, mode.path, body, samples)
            on_call()

    async with asyncio.TaskGroup() as group:
        for _ in range(concurrency):
            group.create_task(caller())


async def _call(
    client: httpx.AsyncClient, path: str, body: bytes | None, samples: _Samples
) -> None:
    started = time.perf_counter()
    try:
        response = await client.request("GET" if body is None else "POST", path, content=body)
    except httpx.HTTPError as error:
        samples.failures[type(error).__name__] += 1
        return
    milliseconds = (time.perf_counter() - started) * 1000
    if not response.is_success:
        samples.failures[error_of(response).code] += 1
        return
    samples.milliseconds.append(milliseconds)
    if body is not None:
        _note_answer(json.loads(response.content), samples)


def _note_answer(answer: Mapping[str, Any], samples: _Samples) -> None:
    samples.degraded += bool(answer.get("degraded"))
    for stage, value in (answer.get("timings_ms") or {}).items():
        if value is not None:
            samples.stages[stage].append(float(value))
