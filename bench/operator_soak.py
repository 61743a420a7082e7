"""Fifty RagBases at once, five quiet minutes, then half an hour in which their pods come and go.

Method. A real API server and controller manager; the operator is a process of its own, with an API
that always answers a search; the kubelet is played. Three parts, one after the other:

1. Fifty RagBases are applied at once. Until all are Ready; resident memory is read each second.
2. Nothing is done for five minutes. Writes of the operator are counted in the API server's audit
   log; only its Lease may be among them.
3. Every few seconds a pod becomes unready or ready again; now and then a child is deleted.

Bars: all are Ready within five minutes (the played kubelet patches 250 pods, one after the other)
and again at the end; no write but the Lease; at most 200 MB; memory in the last tenth of part 3 is
within 10 % of that in its second tenth.

Usage: python -m bench.operator_soak [--minutes 30] [--quiet-minutes 5] [--objects 50] [--out DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.report import Bar, write_report
from e2e.cluster import ControlPlane, find_binaries
from e2e.operator_kit import Harness, install_crds
from e2e.operator_kit.account import WATCHED_ACCOUNT, grant, make_account
from ragbase_operator.rbac.rules import rules

EVERY_S = 2.0
DELETE_EVERY = 15
"""Each so-manieth change is a deletion."""
READY_S = 300.0
SETTLE_S = 20.0
"""Before the quiet part: the last events of part 1 are still to be handled."""
RSS_MB = 200.0
DRIFT = 0.10
SINCE = "2026-11-30T08:00:00Z"


@dataclass
class Log:
    """What was seen."""

    rss: list[float] = field(default_factory=list)
    """Of part 3, MB, once a second."""
    most: float = 0.0
    changes: int = 0
    ready_s: float = 0.0
    writes: Counter[str] = field(default_factory=Counter)
    """Of part 2, by resource."""
    unready: int = 0


async def main(arguments: argparse.Namespace) -> int:
    """Run it; exit status 1 where a bar is missed."""
    log = Log()
    with ControlPlane(find_binaries()) as server:
        install_crds(server)
        harness = Harness(server, server.create_namespace(), server.folder / "operator.log")
        watching = asyncio.create_task(_watch_memory(harness, log))
        try:
            kubeconfig = make_account(server, server.folder)
            grant(server, harness.namespace, rules(namespaced=True))
            await harness.start(KUBECONFIG=str(kubeconfig))
            names = [f"kb-{number}" for number in range(arguments.objects)]
            await _converge(harness, names, log)
            await _quiet(harness, arguments.quiet_minutes * 60, log)
            await _soak(harness, names, arguments.minutes * 60, log)
        finally:
            watching.cancel()
            await harness.close()
    return _report(arguments, log)


async def _watch_memory(harness: Harness, log: Log) -> None:
    while True:
        await asyncio.sleep(1)
        with suppress(AssertionError, OSError):  # not started yet, or ended
            log.most = max(log.most, harness.rss_mb())


async def _converge(harness: Harness, names: list[str], log: Log) -> None:
    for name in names:
        await harness.create({}, name)
    log.ready_s = await harness.until(lambda: _unready(harness, names) == 0, READY_S, kubelet=True)


async def _quiet(harness: Harness, seconds: float, log: Log) -> None:
    await asyncio.sleep(SETTLE_S)
    before = len(harness.server.writes(WATCHED_ACCOUNT))
    await asyncio.sleep(seconds)
    log.writes = Counter(each.resource for each in harness.server.writes(WATCHED_ACCOUNT)[before:])


async def _soak(harness: Harness, names: list[str], seconds: float, log: Log) -> None:
    pods = [
        each["metadata"]["name"]
        for each in harness.list("Pod")
        if each["metadata"]["labels"].get("app.kubernetes.io/component") in ("api", "worker")
    ]
    until = time.monotonic() + seconds
    draw = random.Random(6)
    last = 0.0
    while time.monotonic() < until:
        log.rss.append(harness.rss_mb())
        if time.monotonic() - last >= EVERY_S:
            last = time.monotonic()
            await asyncio.to_thread(_disturb, harness, draw.choice(names), draw.choice(pods), log)
        await asyncio.sleep(1)
    await harness.until(lambda: _unready(harness, names) == 0, READY_S, kubelet=True)
    log.unready = _unready(harness, names)


def _disturb(harness: Harness, name: str, pod: str, log: Log) -> None:
    """A child is deleted, or a pod changes from ready to unready or back."""
    log.changes += 1
    if log.changes % DELETE_EVERY == 0:
        harness.delete("Service", f"{name}-api")
        return
    seen = (harness.get("Pod", pod) or {}).get("status", {}).get("conditions") or []
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in seen)
    conditions = [
        {"type": kind, "status": status, "lastTransitionTime": SINCE}
        for kind, status in (
            ("PodScheduled", "True"),
            ("Initialized", "True"),
            ("ContainersReady", str(not ready)),
            ("Ready", str(not ready)),
        )
    ]
    harness.patch("Pod", pod, {"status": {"conditions": conditions}}, "/status")


def _unready(harness: Harness, names: list[str]) -> int:
    ready = {
        each["metadata"]["name"]
        for each in harness.list("RagBase")
        for condition in (each.get("status") or {}).get("conditions") or []
        if condition["type"] == "Ready" and condition["status"] == "True"
    }
    return len(set(names) - ready)


def _other_writes(log: Log) -> int:
    return sum(count for resource, count in log.writes.items() if resource != "leases")


def _report(arguments: argparse.Namespace, log: Log) -> int:
    tenth = max(1, len(log.rss) // 10)
    early = statistics.median(log.rss[tenth : 2 * tenth] or log.rss)
    late = statistics.median(log.rss[-tenth:])
    bars = [
        Bar("all Ready after the start, s", round(log.ready_s, 1), READY_S),
        Bar("not Ready at the end", log.unready, 0),
        Bar("writes but the Lease in the quiet part", _other_writes(log), 0),
        Bar("memory, MB", round(log.most, 1), RSS_MB),
        Bar("memory, late against early", round(abs(late / early - 1), 3), DRIFT),
    ]
    report: dict[str, Any] = {
        "minutes": arguments.minutes,
        "objects": arguments.objects,
        "changes": log.changes,
        "rss_mb": {
            "early": round(early, 1),
            "late": round(late, 1),
            "most": round(log.most, 1),
        },
        "quiet_minutes": arguments.quiet_minutes,
        "quiet_writes": dict(log.writes),
    }
    lines = [f"- {bar.name}: {bar.value:g} (bar {bar.limit:g})" for bar in bars]
    title = f"# Soak of the operator: {arguments.objects} objects, {arguments.minutes:g} minutes"
    text = "\n".join([title, "", f"{log.changes} changes from outside.", "", *lines, ""])
    write_report(Path(arguments.out) / "operator-soak", report, bars, text)
    print(text)
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Soak of the operator.")
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--quiet-minutes", type=float, default=5.0)
    parser.add_argument("--objects", type=int, default=50)
    parser.add_argument("--out", default="bench/results")
    sys.exit(asyncio.run(main(parser.parse_args())))
