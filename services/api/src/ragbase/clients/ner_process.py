"""A spaCy model in a process of its own, from our side: started when needed, ended when idle."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from typing import Any, Final

from ragbase.clients.batches import batches
from ragbase.clients.ner import NerInfo, NerSpan
from ragbase.clients.ner_spacy import LENGTH, SpacyModel
from ragbase.errors import DeadlineExceededError, UnavailableError, UpstreamError

__all__ = ["SpacyNer"]

BATCH: Final = 32
"""Texts a message: a second of work, after which a cancelled job's rest is not begun."""
LONGEST: Final = 100_000
"""Characters of a text that are read; chunks are far shorter, rows made elsewhere may not be."""
_ANSWER_BYTES: Final = 64 * 1024**2
_KEPT: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""What a Python may need to start. Nothing else of our environment, which holds passwords."""


class SpacyNer:
    """A `Ner` of fixed types. Calls are answered one after the other, by one thread.

    Whatever happens to the process, the next call starts another. ``timeout_s`` bounds the answer
    to one batch, ``start_s`` the loading; unused for ``idle_s`` the process ends.
    """

    def __init__(
        self,
        model: SpacyModel,
        *,
        timeout_s: float = 60.0,
        start_s: float = 60.0,
        idle_s: float = 60.0,
    ) -> None:
        self.info = NerInfo(f"{model.name} {model.version}", model.language)
        self._place = model.place
        self._timeout_s = timeout_s
        self._start_s = start_s
        self._idle_s = idle_s
        self._turn = asyncio.Lock()
        self._process: Process | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._ending: set[asyncio.Task[None]] = set()

    @property
    def process_id(self) -> int | None:
        """Of the process, while there is one."""
        return None if self._process is None else self._process.pid

    async def spans(
        self,
        texts: Sequence[str],
        *,
        labels: Sequence[str] = (),  # noqa: ARG002 - its types are fixed
        within_s: float | None = None,
    ) -> list[list[NerSpan]]:
        """See `Ner.spans`."""
        found: list[list[NerSpan]] = []
        try:
            async with asyncio.timeout(within_s):
                for batch in batches(texts, BATCH):
                    async with self._turn:
                        found += await self._asked([text[:LONGEST] for text in batch.texts])
        except TimeoutError:
            raise _too_late(within_s or 0) from None
        return found

    async def ping(self) -> None:
        """The model is installed, or there would be none of us."""

    async def aclose(self) -> None:
        """End the process."""
        async with self._turn:
            await self._end()
        await asyncio.gather(*self._ending)

    async def _asked(self, texts: list[str]) -> list[list[NerSpan]]:
        if self._idle is not None:
            self._idle.cancel()
        try:
            process = self._process or await self._started()
            answer = await self._answer(process, texts)
        except BaseException:  # also a cancelled caller: its answer must not be the next one's
            await asyncio.shield(self._end())
            raise
        loop = asyncio.get_running_loop()
        self._idle = loop.call_later(self._idle_s, self._fall_asleep)
        return answer

    async def _started(self) -> Process:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
        try:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-I", "-X", "utf8", "-m", "ragbase.clients.ner_spacy", self._place),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={**environment, "OMP_NUM_THREADS": "1"},
                start_new_session=True,  # Ctrl-C is the API's to handle
            )
            async with asyncio.timeout(self._start_s):
                await _received(process)
        except TimeoutError:
            raise _unavailable(f"was not loaded within {self._start_s:g} s") from None
        except OSError:
            raise _unavailable("cannot be started") from None
        except EOFError:
            raise _unavailable("could not be loaded") from None
        return process

    async def _answer(self, process: Process, texts: list[str]) -> list[list[NerSpan]]:
        try:
            async with asyncio.timeout(self._timeout_s):
                await _sent(process, texts)
                return _spans(await _received(process), len(texts))
        except TimeoutError:
            raise _too_late(self._timeout_s) from None
        except (EOFError, OSError):
            raise _unavailable("ended in the middle of its work") from None

    def _fall_asleep(self) -> None:
        task = asyncio.create_task(self._end_unused())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def _end_unused(self) -> None:
        if not self._turn.locked():
            async with self._turn:
                await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if self._idle is not None:
            self._idle.cancel()
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _sent(process: Process, value: object) -> None:
    assert process.stdin is not None
    body = json.dumps(value).encode()
    process.stdin.write(LENGTH.pack(len(body)) + body)
    await process.stdin.drain()


async def _received(process: Process) -> Any:
    """Its next message. Raises `EOFError` where there is none."""
    assert process.stdout is not None
    head = await process.stdout.readexactly(LENGTH.size)  # its error is an EOFError
    (length,) = LENGTH.unpack(head)
    if length > _ANSWER_BYTES:
        raise EOFError
    return json.loads(await process.stdout.readexactly(length))


def _spans(answer: Any, count: int) -> list[list[NerSpan]]:
    if not isinstance(answer, list) or len(answer) != count:
        raise UpstreamError("The NER model answered for another number of texts.")
    return [[NerSpan(start, end, kind) for start, end, kind in spans] for spans in answer]


def _unavailable(what: str) -> UnavailableError:
    return UnavailableError(f"The process of the NER model {what}.", code="ner_unavailable")


def _too_late(seconds: float) -> DeadlineExceededError:
    return DeadlineExceededError(
        f"The NER model did not answer within {seconds:g} s.", code="ner_timeout"
    )
