"""Fifty RagBases whose children change all the time, for half an hour: flat memory, nothing unwell.

Method. A real API server without a kubelet; the operator is a process of its own, with an API that
always answers a search. Every few seconds the status of a Deployment changes from ready to not
ready or back, as if pods came and went; now and then a child is deleted. Resident memory is read
each second.

Bars: all RagBases are Ready within two minutes and at the end; memory in the last tenth of the run
is within 10 % of that in its second tenth, and at most 200 MB.

Usage: python -m bench.operator_soak [--minutes 30] [--objects 50] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report import Bar, write_report
from e2e.cluster import ControlPlane, find_binaries
from e2e.operator_kit import Harness, install_crds

EVERY_S = 2.0
DELETE_EVERY = 15
"""Each so-manieth change is a deletion."""
READY_S = 120.0
RSS_MB = 200.0
DRIFT = 0.10


@dataclass
class Log:
    """What was seen."""

    rss: list[float] = field(default_factory=list)
    changes: int = 0
    ready_s: float = 0.0
    unready: int = 0


async def main(arguments: argparse.Namespace) -> int:
    """Run it; exit status 1 where a bar is missed."""
    log = Log()
    with ControlPlane(find_binaries()) as server:
        install_crds(server)
        harness = Harness(server, server.create_namespace(), Path(arguments.out) / "operator.log")
        harness.log.parent.mkdir(parents=True, exist_ok=True)
        try:
            await harness.start()
            await _soak(harness, arguments.objects, arguments.minutes * 60, log)
        finally:
            await harness.close()
    return _report(arguments, log)


async def _soak(harness: Harness, objects: int, seconds: float, log: Log) -> None:
    names = [f"kb-{number}" for number in range(objects)]
    for name in names:
        await harness.create({}, name)
    log.ready_s = await harness.until(lambda: _unready(harness, names) == 0, READY_S, kubelet=True)
    until = time.monotonic() + seconds
    draw = random.Random(6)
    last = 0.0
    while time.monotonic() < until:
        log.rss.append(harness.rss_mb())
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            await asyncio.to_thread(_disturb, harness, draw.choice(names), log)
        await asyncio.sleep(1)
    await harness.until(lambda: _unready(harness, names) == 0, READY_S, kubelet=True)
    log.unready = _unready(harness, names)


def _disturb(harness: Harness, name: str, log: Log) -> None:
    log.changes += 1
    if log.changes % DELETE_EVERY == 0:
        harness.delete("Service", f"{name}-api")
        return
    api = harness.get("Deployment", f"{name}-api") or {}
    ready = (api.get("status") or {}).get("readyReplicas", 0)
    status = {"status": {"readyReplicas": 0 if ready else 1}}
    harness.patch("Deployment", f"{name}-api", status, "/status")


def _unready(harness: Harness, names: list[str]) -> int:
    ready = {
        each["metadata"]["name"]
        for each in harness.list("RagBase")
        for condition in (each.get("status") or {}).get("conditions") or []
        if condition["type"] == "Ready" and condition["status"] == "True"
    }
    return len(set(names) - ready)


def _report(arguments: argparse.Namespace, log: Log) -> int:
    tenth = max(1, len(log.rss) // 10)
    early = statistics.median(log.rss[tenth : 2 * tenth] or log.rss)
    late = statistics.median(log.rss[-tenth:])
    bars = [
        Bar("all Ready after the start, s", round(log.ready_s, 1), READY_S),
        Bar("not Ready at the end", log.unready, 0),
        Bar("memory, MB", round(max(log.rss), 1), RSS_MB),
        Bar("memory, late against early", round(abs(late / early - 1), 3), DRIFT),
    ]
    report: dict[str, Any] = {
        "minutes": arguments.minutes,
        "objects": arguments.objects,
        "changes": log.changes,
        "rss_mb": {
            "early": round(early, 1),
            "late": round(late, 1),
            "most": round(max(log.rss), 1),
        },
    }
    lines = [f"- {bar.name}: {bar.value:g} (bar {bar.limit:g})" for bar in bars]
    title = f"# Soak of the operator: {arguments.objects} objects, {arguments.minutes:g} minutes"
    text = "\n".join([title, "", f"{log.changes} changes from outside.", "", *lines])
    write_report(Path(arguments.out) / "operator-soak", report, bars, text)
    print(text)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Soak of the operator.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--objects", type=int, default=50)
    parser.add_argument("--out", default="bench/results")
    sys.exit(asyncio.run(main(parser.parse_args())))
