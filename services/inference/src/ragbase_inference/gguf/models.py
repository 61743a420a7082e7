"""Local models by name: embedding, reranking, chat; one registry for all their uses."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.errors import InferenceError, ModelFailedError
from ragbase_inference.gguf.errors import NotLoadedError, ServedElsewhereError
from ragbase_inference.gguf.facts import GgufKind
from ragbase_inference.gguf.folder import KINDS, GgufFolder, bare_name
from ragbase_inference.gguf.leases import Leases
from ragbase_inference.gguf.model import GgufInfo, LlamaModel
from ragbase_inference.gguf.opening import answers, connect, open_file, plan
from ragbase_inference.gguf.options import GgufOptions

__all__ = ["GgufModels", "GgufState"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GgufState:
    """One row of the listing."""

    name: str
    kind: GgufKind
    loaded: bool
    """In memory; of a server: whether it answers."""
    served: bool
    """By a server of its own."""


class GgufModels:
    """The models of the folders in ``root``, and those of ``options.servers``.

    Blocking; safe to call from any thread. Names have ``.gguf`` or not. Every method that names a
    model raises `UnknownModelError`, and those that use one `ModelUnavailableError`,
    `ModelFailedError`, `NoRoomError`, `ClosedError`. A server's name wins over a file's.
    """

    def __init__(self, root: Path, options: GgufOptions | None = None) -> None:
        self.options = options or GgufOptions()
        self.folder = GgufFolder(root)
        self._closed = threading.Event()
        self._leases = Leases[LlamaModel](
            self._open,
            self._need,
            memory_bytes=self.options.memory_bytes,
            wait_s=self.options.wait_s,
        )
        threading.Thread(target=self._sweep, name="gguf-idle", daemon=True).start()

    def models(self) -> list[GgufState]:
        """All there are: by folder chat, embedding, reranker, each by name."""
        loaded = set(self._leases.loaded())
        rows = [
            GgufState(file.name, file.kind, _key(file.kind, file.name) in loaded, served=False)
            for file in self.folder.files()
            if not self._is_served(file.name, file.kind)
        ]
        rows += [
            GgufState(name, server.kind, self._answers(name, server.kind), served=True)
            for name, server in self.options.servers.items()
        ]
        return sorted(rows, key=lambda row: (KINDS.index(row.kind), row.name))

    def has(self, name: str, kind: GgufKind) -> bool:
        """Whether `models` lists it."""
        wanted = bare_name(name)
        return self._is_served(wanted, kind) or any(
            file.name == wanted and file.kind == kind for file in self.folder.files()
        )

    def load(self, name: str, kind: GgufKind) -> None:
        """Have it in memory; a loaded one counts as used now."""
        with self._use(name, kind):
            pass

    def unload(self, name: str) -> None:
        """Give its memory back once calls under way are done: of the first kind that has it loaded.

        Raises `NotLoadedError`, `ServedElsewhereError`, `NoRoomError` where its users do not end.
        """
        wanted = bare_name(name)
        loaded = self._leases.loaded()
        for kind in KINDS:
            if self._is_served(wanted, kind):
                raise ServedElsewhereError(f"{wanted!r} is run by a server of its own")
            if _key(kind, wanted) in loaded:
                self._leases.unload(_key(kind, wanted))
                return
        raise NotLoadedError(f"{wanted!r} is not loaded")

    def info(self, name: str, kind: GgufKind) -> GgufInfo:
        """Facts about the model; loads it."""
        with self._use(name, kind) as model:
            return model.info

    def count_tokens(self, name: str, kind: GgufKind, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special ones included."""
        with self._use(name, kind) as model:
            return model.count_tokens(texts)

    def embed(self, name: str, texts: Sequence[str], *, cut: bool = False) -> NDArray[np.float32]:
        """Unit vectors (texts, dimension); texts too long are cut, or `TextTooLongError`."""
        with self._use(name, "embedding") as model:
            return model.embed(texts, cut=cut)

    def rerank(self, name: str, query: str, texts: Sequence[str]) -> list[float]:
        """One score in 0…1 a text, in the order of ``texts``. Texts too long are cut."""
        with self._use(name, "reranker") as model:
            return model.rerank(query, texts)

    def chat(
        self, name: str, prompt: str, *, max_tokens: int = 200, temperature: float = 0.0
    ) -> str:
        """The answer to one user message, stripped; may end in the middle at ``max_tokens``."""
        with self._use(name, "chat") as model:
            return model.chat(prompt, max_tokens=max_tokens, temperature=temperature)

    def unload_idle(self) -> list[str]:
        """Unload what has not been used for ``options.idle_s``; ``kind/name`` of each."""
        gone = self._leases.unload_idle(self.options.idle_s)
        for name in gone:
            log.info("unloaded the model %s, which was idle", name)
        return gone

    def close(self) -> None:
        """Unload all; later calls raise `ClosedError`."""
        self._closed.set()
        self._leases.close()

    def _use(self, name: str, kind: GgufKind) -> AbstractContextManager[LlamaModel]:
        wanted = bare_name(name)
        if not self._is_served(wanted, kind):
            self.folder.find(wanted, kind)  # also a loaded one's file may be gone
        return self._leases.use(_key(kind, wanted))

    def _is_served(self, name: str, kind: GgufKind) -> bool:
        server = self.options.servers.get(name)
        return server is not None and server.kind == kind

    def _answers(self, name: str, kind: GgufKind) -> bool:
        server = self.options.servers[name]
        if _key(kind, name) not in self._leases.loaded() and not answers(server):
            return False  # connecting waits as long as for an answer
        try:
            with self._leases.use(_key(kind, name)) as model:
                return model.answers()
        except InferenceError:
            return False

    def _open(self, key: str) -> LlamaModel:
        kind, name = _parted(key)
        if self._is_served(name, kind):
            return connect(name, self.options.servers[name], self.options)
        log.info("loading the %s model %s", kind, name)
        planned = plan(self.folder.find(name, kind), self.options)
        return open_file(planned, self.options, self._closed)

    def _need(self, key: str) -> int:
        kind, name = _parted(key)
        if self._is_served(name, kind):
            return 0
        return plan(self.folder.find(name, kind), self.options).need_bytes

    def _sweep(self) -> None:
        while not self._closed.wait(self.options.sweep_s):
            try:
                self.unload_idle()
            except ModelFailedError:
                log.exception("idle models could not be unloaded")


def _key(kind: GgufKind, name: str) -> str:
    return f"{kind}/{name}"


def _parted(key: str) -> tuple[GgufKind, str]:
    folder, _, name = key.partition("/")
    (kind,) = (kind for kind in KINDS if kind == folder)
    return kind, name
