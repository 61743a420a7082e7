"""Calls that are given up: their threads go on, and leave those of other models alone."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from ragbase.clients.inprocess_gguf import InProcessGguf
from ragbase_inference.gguf.models import GgufModels

from ..eventually import eventually

WAIT_S = 20.0


class StuckModels:
    """The model ``stuck`` answers once it is let go."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.asked = 0

    def chat(self, name: str, prompt: str, **_: object) -> str:
        if name == "stuck":
            self.asked += 1
            self.go.wait(WAIT_S)
        return name

    def close(self) -> None:
        self.go.set()


@pytest.fixture
def stuck() -> Iterator[StuckModels]:
    models = StuckModels()
    yield models
    models.go.set()


async def test_calls_given_up_do_not_take_the_threads_of_other_models(stuck: StuckModels) -> None:
    gguf = InProcessGguf(cast("GgufModels", stuck))
    for _ in range(100):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(gguf.chat("stuck", "p"), 0.002)
    assert await asyncio.wait_for(gguf.chat("other", "p"), WAIT_S / 4) == "other"
    assert stuck.asked <= 8
    stuck.go.set()
    assert await asyncio.wait_for(gguf.chat("stuck", "p"), WAIT_S / 4) == "stuck"

    async def all_back() -> bool:
        return gguf._calls == 0

    await eventually(all_back, WAIT_S / 4)  # a thread gives its place back after its answer
    await gguf.aclose()


_LEAVES = """
import asyncio, time
from ragbase.clients.inprocess_gguf import InProcessGguf

class Silent:
    def chat(self, *_, **__):
        time.sleep(120)
    def close(self):
        pass

async def main():
    gguf = InProcessGguf(Silent())
    try:
        await asyncio.wait_for(gguf.chat("silent", "p"), 0.2)
    except TimeoutError:
        await gguf.aclose()
        print("closed")

asyncio.run(main())
"""


def test_the_process_ends_though_a_server_never_answers() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _LEAVES], capture_output=True, text=True, timeout=60, check=True
    )
    assert ended.stdout == "closed\n"
