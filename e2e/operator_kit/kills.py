"""An operator that is killed again and again while RagBases are made, changed and deleted."""

from __future__ import annotations

import asyncio
import random
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from e2e.operator_kit.harness import Harness
from e2e.operator_kit.patience import patience
from e2e.operator_kit.state import end_state, leftovers

__all__ = ["Killing", "kill_often"]

SPECS: tuple[dict[str, Any], ...] = (
    {},
    {"api": {"replicas": 3}},
    {"graph": {"enabled": True}, "workers": {"replicas": 2}},
    {"rerankers": [{"name": "default"}]},
    {"networkPolicy": {"enabled": False}},
)
RETAINED = {"PersistentVolumeClaim", "Secret"}
"""What a RagBase leaves under the deletion policy Retain."""
LONGEST_LIFE_S = 2.5
"""Of an operator, after it began to watch; most of its work is in its first second."""


@dataclass
class Killing:
    """What came of it: empty lists where all is as it should be."""

    kills: int = 0
    actions: dict[str, int] = field(default_factory=dict)
    differing: list[str] = field(default_factory=list)
    """Children that are not as those of a RagBase that was made in peace."""
    left: list[str] = field(default_factory=list)
    """RagBases that are deleted and have left more than their data."""


async def kill_often(harness: Harness, kills: int, seed: int) -> Killing:
    """Kill ``kills`` operators, each in the middle of something; then let one bring all to its end.

    Afterwards the RagBases that are left are compared with new ones of the same specs.
    """
    draw, result = random.Random(seed), Killing()
    alive: dict[str, dict[str, Any]] = {}
    gone: dict[str, str] = {}
    for number in range(kills):
        action = _act(harness, draw, number, alive, gone)
        result.actions[action] = result.actions.get(action, 0) + 1
        await _run_and_kill(harness, draw)
        result.kills += 1
    await harness.start()
    for name in alive:
        await harness.until_ready(name, 120)
    await harness.until(lambda: all(harness.get("RagBase", each) is None for each in gone), 60)
    for name, uid in gone.items():
        await _ended(harness, name, uid, result)
    await _compare(harness, alive, result)
    return result


def _act(
    harness: Harness,
    draw: random.Random,
    number: int,
    alive: dict[str, dict[str, Any]],
    gone: dict[str, str],
) -> str:
    """Make a RagBase, change one, or delete one; what was done."""
    if len(alive) < 2 or (len(alive) < 4 and draw.random() < 0.3):
        name = f"killed-{number}"
        alive[name] = draw.choice(SPECS)
        harness.write("RagBase", name, {"spec": alive[name]})
        return "create"
    name = draw.choice(sorted(alive))
    if draw.random() < 0.35:
        body = harness.get("RagBase", name)
        assert body is not None
        gone[name] = body["metadata"]["uid"]
        del alive[name]
        harness.delete("RagBase", name)
        return "delete"
    alive[name] = draw.choice([spec for spec in SPECS if spec != alive[name]])
    harness.write("RagBase", name, {"spec": alive[name]})
    return "update"


async def _run_and_kill(harness: Harness, draw: random.Random) -> None:
    begun = harness.starts()
    await harness.start()
    await harness.until(lambda: harness.starts() > begun, 30)
    await asyncio.sleep(patience(draw.uniform(0.0, LONGEST_LIFE_S)))
    await harness.stop(signal.SIGKILL)


async def _ended(harness: Harness, name: str, uid: str, result: Killing) -> None:
    try:
        await harness.until(lambda: leftovers(harness, uid) <= RETAINED, 60)
    except TimeoutError:
        result.left.append(f"{name}: {sorted(leftovers(harness, uid) - RETAINED)}")


async def _compare(harness: Harness, alive: Mapping[str, dict[str, Any]], result: Killing) -> None:
    for name, spec in alive.items():
        peaceful = name.replace("killed", "peaceful")
        harness.write("RagBase", peaceful, {"spec": spec})
        await harness.until_ready(peaceful, 120)
        before, after = end_state(harness, peaceful), end_state(harness, name)
        kept = {key for key in after.keys() - before.keys() if key.split()[0] in RETAINED}
        for key in (before.keys() | after.keys()) - kept:
            if before.get(key) != after.get(key):
                result.differing.append(f"{name}: {key}")
