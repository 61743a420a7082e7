"""Local models in GGUF files, of folders on this machine: llama.cpp by the inference package."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from threading import Thread
from typing import TypeVar
from weakref import WeakValueDictionary

from ragbase.clients.gguf import GgufInfo, GgufKind, GgufModel
from ragbase.errors import (
    InvalidInputError,
    NotFoundError,
    OverloadedError,
    RagBaseError,
    UnavailableError,
    UpstreamError,
)
from ragbase.models.domain import Vectors
from ragbase.settings import Settings
from ragbase_inference.errors import (
    ClosedError,
    InferenceError,
    ModelFailedError,
    ModelUnavailableError,
    QueueFullError,
    TextTooLongError,
)
from ragbase_inference.gguf.errors import (
    NotLoadedError,
    ReplacedFileError,
    ServedElsewhereError,
    TooMuchMemoryError,
    UnknownModelError,
    WrongKindOfFileError,
)
from ragbase_inference.gguf.models import GgufModels as LlamaModels
from ragbase_inference.gguf.options import GgufOptions, LlamaServer

__all__ = ["InProcessGguf", "open_gguf"]

Answer = TypeVar("Answer")

_THREADS = 64
"""Calls at work; each waits for a model, or for its answer."""
_A_MODEL = 8
"""Of them for one model: those that wait while one loads leave threads to the others."""
_MOST_CALLS = 512
"""At work and waiting."""
_SWEEP_S = 900.0
KEPT_S = 1.0
"""How late it may show that a file has come or gone; a model in use is looked at each time."""
_LATELY_MAX = 100


def open_gguf(settings: Settings) -> InProcessGguf:
    """The models of the settings; none is loaded, and the folders need not be there."""
    options = GgufOptions(
        memory_bytes=settings.localrag_models_memory_bytes,
        threads=settings.localrag_model_threads,
        gpu_layers=settings.localrag_model_gpu_layers,
        chat_context=settings.localrag_chat_tokens,
        text_context=settings.localrag_text_tokens,
        idle_s=settings.localrag_model_idle_s,
        sweep_s=min(_SWEEP_S, settings.localrag_model_idle_s / 2),
        load_timeout_s=settings.localrag_model_timeout_s,
        answer_timeout_s=settings.localrag_model_timeout_s,
        servers={
            name: LlamaServer(spec.kind, spec.url, spec.api_key.get_secret_value())
            for name, spec in settings.localrag_servers.items()
        },
    )
    return InProcessGguf(LlamaModels(settings.models_dir, options))


class InProcessGguf:
    """`ragbase.clients.gguf.GgufModels` over blocking models, on threads of its own."""

    def __init__(self, models: LlamaModels) -> None:
        self._models = models
        self._threads = asyncio.Semaphore(_THREADS)
        self._calls = 0
        self._closed = False
        self._lately: dict[tuple[str, GgufKind], tuple[float, bool]] = {}
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def models(self) -> list[GgufModel]:
        """All there are; see `GgufModels`."""
        rows = await self._run(self._models.models)
        return [GgufModel(row.name, row.kind, row.loaded, row.served) for row in rows]

    async def has(self, name: str, kind: GgufKind) -> bool:
        """Whether `models` lists it, or did a moment ago: each search asks, and folders may be slow."""
        now = time.monotonic()
        until, found = self._lately.get((name, kind), (0.0, False))
        if until > now:
            return found
        found = await self._run(lambda: self._models.has(name, kind))
        if len(self._lately) >= _LATELY_MAX:
            self._lately.clear()
        self._lately[name, kind] = now + KEPT_S, found
        return found

    async def load(self, name: str, kind: GgufKind) -> None:
        """Have it in memory."""
        await self._run(lambda: self._models.load(name, kind), name)

    async def unload(self, name: str) -> None:
        """Give its memory back once calls under way are done."""
        await self._run(lambda: self._models.unload(name), f"unload {name}")

    async def info(self, name: str, kind: GgufKind) -> GgufInfo:
        """Facts about the model; loads it."""
        found = await self._run(lambda: self._models.info(name, kind), name)
        return GgufInfo(found.name, found.kind, found.max_tokens, found.dimension, found.version)

    async def count_tokens(
        self, name: str, kind: GgufKind, texts: Sequence[str], *, version: str = ""
    ) -> list[int]:
        """Tokens of each text, special ones included."""
        return await self._run(
            lambda: self._models.count_tokens(name, kind, texts, version=version), name
        )

    async def embed(
        self, name: str, texts: Sequence[str], *, cut: bool = False, version: str = ""
    ) -> Vectors:
        """Unit vectors, one row a text."""
        return await self._run(
            lambda: self._models.embed(name, texts, cut=cut, version=version), name
        )

    async def rerank(self, name: str, query: str, texts: Sequence[str]) -> list[float]:
        """One score in 0…1 a text, in the order of ``texts``."""
        return await self._run(lambda: self._models.rerank(name, query, texts), name)

    async def chat(
        self, name: str, prompt: str, *, max_tokens: int = 200, temperature: float = 0.0
    ) -> str:
        """The answer to one user message, stripped."""
        return await self._run(
            lambda: self._models.chat(name, prompt, max_tokens=max_tokens, temperature=temperature),
            name,
        )

    async def aclose(self) -> None:
        """Unload all, at once: what they work on fails."""
        self._closed = True
        await asyncio.to_thread(self._models.close)

    async def _run(self, call: Callable[[], Answer], model: str = "") -> Answer:
        """What ``call`` gives; one of too many for a model waits here and not on a thread.

        A call that is given up keeps its place until its thread is free: nothing stops a thread, and
        others of the same model must not take those of all models meanwhile.
        """
        if self._calls >= _MOST_CALLS:
            raise OverloadedError("Too many calls wait for local models.")
        gate = self._gates.setdefault(model, asyncio.Semaphore(_A_MODEL))
        self._calls += 1
        work: Future[Answer] | None = None
        try:
            async with AsyncExitStack() as places:
                await places.enter_async_context(gate)
                await places.enter_async_context(self._threads)
                if self._closed:
                    raise UnavailableError("The local models are closed.")
                work = _started(call)
                places.pop_all()  # the thread gives them back
            return await self._answer(work, gate)
        except InferenceError as error:
            raise _translated(error) from error
        finally:
            if work is None:
                self._calls -= 1

    async def _answer(self, work: Future[Answer], gate: asyncio.Semaphore) -> Answer:
        loop = asyncio.get_running_loop()

        def free() -> None:
            self._calls -= 1
            gate.release()
            self._threads.release()

        def freed(_: Future[Answer]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(free)

        answer = asyncio.wrap_future(work)
        work.add_done_callback(freed)
        return await answer


def _started(call: Callable[[], Answer]) -> Future[Answer]:
    """``call`` on a thread of its own, which the end of the process does not wait for: it may be
    waiting for a server that never answers."""
    work: Future[Answer] = Future()

    def run() -> None:
        if not work.set_running_or_notify_cancel():
            return
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - told to whoever waits
            work.set_exception(error)
        else:
            work.set_result(answer)

    Thread(target=run, name="gguf", daemon=True).start()
    return work


def _translated(error: InferenceError) -> RagBaseError:
    """The product's error of the same meaning."""
    text = _sentence(str(error))
    match error:
        case UnknownModelError():
            return NotFoundError(text, code="model_not_found")
        case NotLoadedError():
            return NotFoundError(text, code="model_not_loaded")
        case ServedElsewhereError():
            return InvalidInputError(text, code="model_is_served")
        case ReplacedFileError():
            return UnavailableError(f"{text} Send the request again.", code="model_replaced")
        case WrongKindOfFileError():
            return InvalidInputError(text, code="model_wrong_kind")
        case TextTooLongError():
            return InvalidInputError(text, code="text_too_long")
        case TooMuchMemoryError():
            return UpstreamError(
                f"{text} LOCALRAG_MODELS_MEMORY_BYTES says so.", code="model_too_large"
            )
        case ModelUnavailableError():
            return UpstreamError(text, code="model_unusable")
        case QueueFullError():
            return OverloadedError(text)
        case ClosedError():
            return UnavailableError("The local models are closed.")
        case ModelFailedError():
            return UnavailableError(text, code="model_failed")
        case _:
            return UnavailableError(text)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
