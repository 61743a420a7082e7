"""An operator that is killed fifty times, and one whose connections die silently.

Method. A real API server and controller manager; the kubelet is played.

1. RagBases are made, changed and deleted at random; after each such act an operator is started and
   killed within its first seconds. Then one is left alone, and what is there is compared with what
   it makes in peace of the same specs, child by child (`e2e/operator_kit/state.py`).
2. The operator reaches the API server through a relay, with the default settings. All connections
   are cut without a word while new ones work; at the same moment a spec is changed. Measured: when
   the change is carried out, and when the heartbeat is seen again.

Bars: no child differs, nothing but data is left of what is deleted, and both times of part 2 are at
most 90 s.

Usage: python -m bench.operator_chaos [--kills 50] [--seed 1] [--out bench/results]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import Any

from bench.report import Bar, write_report
from e2e.cluster import ControlPlane, find_binaries
from e2e.cluster.identity import kubeconfig, private
from e2e.operator_kit import Harness, install_crds
from e2e.operator_kit.kills import Killing, kill_often
from e2e.operator_kit.relay import Relay

NOTICED_S = 90.0
SETTLED_S = 45.0
"""Before the cut: every watch is open, and a renewal of the Lease was seen."""


async def main(arguments: argparse.Namespace) -> int:
    """Run both; exit status 1 where a bar is missed."""
    with ControlPlane(find_binaries()) as server:
        install_crds(server)
        begun = time.monotonic()
        killing = await _kills(server, arguments.kills, arguments.seed)
        seconds = time.monotonic() - begun
        acted, seen = await _cut(server)
    return _report(arguments, killing, seconds, acted, seen)


async def _kills(server: ControlPlane, kills: int, seed: int) -> Killing:
    harness = Harness(server, server.create_namespace(), server.folder / "kills.log")
    try:
        return await kill_often(harness, kills, seed)
    finally:
        await harness.close()


async def _cut(server: ControlPlane) -> tuple[float, float]:
    """Seconds from the cut until the change was carried out, and the heartbeat seen."""
    harness = Harness(server, server.create_namespace(), server.folder / "cut.log")
    async with Relay(server.port) as relay:
        config = server.folder / "relay.kubeconfig"
        url = f"https://127.0.0.1:{relay.port}"
        private(config, kubeconfig(url, server.ca_file, server.token()))
        try:
            await harness.start(KUBECONFIG=str(config))
            await harness.create()
            await harness.until_ready()
            await asyncio.sleep(SETTLED_S)
            cut = time.time()
            relay.cut()
            harness.write("RagBase", "kb", {"spec": {"api": {"replicas": 2}}})
            await harness.until(lambda: _replicas(harness) == 2, 300)
            acted = time.time() - cut
            health, _ = harness.ports()
            await harness.until(lambda: time.time() - _age(harness, health) > cut + 1, 300)
            return acted, time.time() - cut
        finally:
            await harness.close()


def _replicas(harness: Harness) -> int:
    return int((harness.get("Deployment", "kb-api") or {})["spec"]["replicas"])


def _age(harness: Harness, port: int) -> float:
    """Seconds since the heartbeat was seen."""
    return float(harness.fetch(port, "/healthz").split()[2])


def _report(
    arguments: argparse.Namespace, killing: Killing, seconds: float, acted: float, seen: float
) -> int:
    bars = [
        Bar("kills", killing.kills, arguments.kills, at_least=True),
        Bar("children that differ", len(killing.differing), 0),
        Bar("RagBases that left more than data", len(killing.left), 0),
        Bar("a change after a silent cut, s", round(acted, 1), NOTICED_S),
        Bar("the heartbeat after a silent cut, s", round(seen, 1), NOTICED_S),
    ]
    report: dict[str, Any] = {
        "actions": killing.actions,
        "differing": killing.differing,
        "left": killing.left,
        "seconds": round(seconds),
    }
    lines = [f"- {bar.name}: {bar.value:g} (bar {bar.limit:g})" for bar in bars]
    acts = ", ".join(f"{count} {name}" for name, count in sorted(killing.actions.items()))
    title = f"# An operator that is killed {killing.kills} times, and a silent cut"
    text = "\n".join([title, "", f"Killed during: {acts}.", "", *lines])
    write_report(Path(arguments.out) / "operator-chaos", report, bars, text)
    print(text)
    print(*killing.differing, *killing.left, sep="\n")
    return 0 if all(bar.met for bar in bars) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Chaos for the operator.")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", default="bench/results")
    sys.exit(asyncio.run(main(parser.parse_args())))
