"""All parts under load and under Prometheus, for tests and for drawings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from charts.monitoring.files import FOLDER, OPERATOR_RULES, STACK_RULES
from charts.monitoring.live.binaries import Binaries
from charts.monitoring.live.load import drive
from charts.monitoring.live.operator import played_operator
from charts.monitoring.live.prometheus import Prometheus, Target, prometheus
from charts.monitoring.live.stack import Stack, running_stack

__all__ = ["Observed", "observed"]

_RULES: Final = [FOLDER / STACK_RULES, FOLDER / OPERATOR_RULES]


@dataclass(frozen=True, slots=True)
class Observed:
    """What ran, from ``start`` to ``end`` (seconds since the epoch)."""

    url: str
    """Of the API."""
    prometheus: Prometheus
    targets: list[Target]
    variables: dict[str, str]
    """What a user would choose above a dashboard."""
    statuses: Counter[int]
    start: float
    end: float


@asynccontextmanager
async def observed(binaries: Binaries, seconds: float) -> AsyncIterator[Observed]:
    """Start everything, put load on it for so long, and hand it over while it still runs."""
    with tempfile.TemporaryDirectory(prefix="ragbase-monitoring-") as name:
        folder = Path(name)
        os.chmod(folder, 0o711)  # noqa: PTH101 - for Postgres, which is somebody else where we are root
        manager = running_stack(folder)
        stack = await asyncio.to_thread(manager.__enter__)
        try:
            async with played_operator(folder, await _summaries(stack, folder)) as operator:
                targets = [_within(each, operator.namespace) for each in stack.targets]
                targets.append(operator.target)
                with prometheus(binaries, folder / "prometheus", targets, _RULES) as server:
                    start = time.time()
                    statuses = await asyncio.to_thread(drive, stack.url, stack.localrag, seconds)
                    await asyncio.sleep(2)  # the last points are scraped, the rules evaluated
                    yield Observed(
                        stack.url,
                        server,
                        targets,
                        _variables(targets[0]),
                        statuses,
                        start,
                        time.time(),
                    )
        finally:
            await asyncio.to_thread(manager.__exit__, None, None, None)


def _within(target: Target, namespace: str) -> Target:
    return Target(target.address, {**target.labels, "namespace": namespace})


def _variables(target: Target) -> dict[str, str]:
    return {
        "namespace": target.labels["namespace"],
        "ragbase": target.labels["ragbase"],
        "mode": "hybrid",
        "__rate_interval": "20s",
    }


async def _summaries(stack: Stack, folder: Path) -> dict[str, Any]:
    """What the Jobs of a benchmark hand over: they are run here, as their pods run them."""
    corpus = ["--collection", "builtin"]  # ingested once
    commands = {
        "eval": ["eval", "builtin", "--split", "even", *corpus],
        "bench": ["bench", "builtin", "--requests", "5", "--concurrency", "1", *corpus],
    }
    found: dict[str, Any] = {"backup": _BACKUP}
    for name, command in commands.items():
        summary = folder / f"{name}.json"
        where = ["--url", stack.url, "--summary", str(summary)]
        await asyncio.to_thread(_ragbase, [*command, *where])
        found[name] = json.loads(summary.read_text())
    return found


def _ragbase(arguments: list[str]) -> None:
    command = [sys.executable, "-m", "ragbase", *arguments]
    done = subprocess.run(
        command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        raise RuntimeError(f"ragbase {arguments[0]}: exit {done.returncode}\n{done.stdout[-4000:]}")


_BACKUP: Final = {
    "path": "/backup/docs/20261130T080000Z",
    "taken_at": "2026-11-30T08:00:00Z",
    "documents": 64,
    "chunks": 64,
    "bytes": 1_000_000,
    "version": "0.1.0",
}
