"""Local models by name: embedding, reranking, chat; one registry for all their uses."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ragbase_inference.errors import InferenceError, ModelFailedError, ModelUnavailableError
from ragbase_inference.gguf.errors import (
    NotLoadedError,
    ReplacedFileError,
    ServedElsewhereError,
    UnknownModelError,
)
from ragbase_inference.gguf.facts import GgufKind
from ragbase_inference.gguf.folder import KINDS, GgufFile, GgufFolder, bare_name
from ragbase_inference.gguf.leases import Leases
from ragbase_inference.gguf.model import GgufInfo, LlamaModel
from ragbase_inference.gguf.opening import answers, connect, open_file, plan
from ragbase_inference.gguf.options import GgufOptions

__all__ = ["GgufModels", "GgufState"]

log = logging.getLogger(__name__)

_REPLACED_IDLE_S = 30.0
"""A model whose file was replaced goes once nobody has used it for so long: who began with it may be
between two calls."""
_TRIES = 3
"""Of a file that is replaced while it is loaded."""


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

    A file that takes another's place is loaded by the next use, while calls under way end on the
    old one. ``version`` (`GgufInfo.version`) asks for the model that a caller has begun with, and
    raises `ReplacedFileError` once that is gone.
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
        loaded = {_parted(key)[:2] for key in self._leases.loaded()}
        rows = [
            GgufState(file.name, file.kind, (file.kind, file.name) in loaded, served=False)
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
        for kind in KINDS:
            if self._is_served(wanted, kind):
                raise ServedElsewhereError(f"{wanted!r} is run by a server of its own")
            if loaded := self._loaded(wanted, kind):
                for key in loaded:
                    self._leases.unload(key)
                return
        raise NotLoadedError(f"{wanted!r} is not loaded")

    def info(self, name: str, kind: GgufKind) -> GgufInfo:
        """Facts about the model; loads it."""
        with self._use(name, kind) as model:
            return model.info

    def count_tokens(
        self, name: str, kind: GgufKind, texts: Sequence[str], *, version: str = ""
    ) -> list[int]:
        """Tokens of each text, special ones included."""
        with self._use(name, kind, version) as model:
            return model.count_tokens(texts)

    def embed(
        self, name: str, texts: Sequence[str], *, cut: bool = False, version: str = ""
    ) -> NDArray[np.float32]:
        """Unit vectors (texts, dimension); texts too long are cut, or `TextTooLongError`."""
        with self._use(name, "embedding", version) as model:
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
        gone = [_told(key) for key in self._leases.unload_idle(self.options.idle_s)]
        for name in gone:
            log.info("unloaded the model %s, which was idle", name)
        self._unload_replaced(self._leases.loaded())
        return gone

    def close(self) -> None:
        """Unload all; later calls raise `ClosedError`."""
        self._closed.set()
        self._leases.close()

    @contextmanager
    def _use(self, name: str, kind: GgufKind, version: str = "") -> Iterator[LlamaModel]:
        with ExitStack() as users:
            yield self._entered(users, bare_name(name), kind, version)

    def _entered(self, users: ExitStack, name: str, kind: GgufKind, version: str) -> LlamaModel:
        if self._is_served(name, kind):
            return users.enter_context(self._leases.use(_key(kind, name)))
        if version:
            return users.enter_context(self._leases.use(_key(kind, name, version)))
        for left in reversed(range(_TRIES)):
            file = self.folder.find(name, kind)  # also a loaded one's file may be gone
            try:
                model = users.enter_context(self._leases.use(_key(kind, name, file.version)))
            except ReplacedFileError:
                if not left:
                    raise
            else:
                self._unload_replaced(self._loaded(name, kind))
                return model
        raise AssertionError("the last try raises")

    def _loaded(self, name: str, kind: GgufKind) -> list[str]:
        """Keys of the versions in memory."""
        return [key for key in self._leases.loaded() if _parted(key)[:2] == (kind, name)]

    def _unload_replaced(self, keys: Sequence[str]) -> None:
        """Those of the loaded models whose file is no longer the one that they were loaded from."""
        if len(keys) < 2:
            return
        old = [key for key in keys if self._is_replaced(key)]
        for key in self._leases.unload_idle(_REPLACED_IDLE_S, old):
            log.info("unloaded the model %s, whose file was replaced", _told(key))

    def _is_replaced(self, key: str) -> bool:
        kind, name, version = _parted(key)
        if self._is_served(name, kind):
            return False
        try:
            return self.folder.find(name, kind).version != version
        except UnknownModelError:
            return False  # gone, but nothing is in its place

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
        kind, name, version = _parted(key)
        if self._is_served(name, kind):
            return connect(name, self.options.servers[name], self.options)
        log.info("loading the %s model %s", kind, name)
        with self._of_version(name, kind, version) as file, ExitStack() as undo:
            model = open_file(plan(file, self.options), self.options, self._closed)
            undo.callback(model.close)
            self._file(name, kind, version)  # llama.cpp was given its path
            undo.pop_all()
        return model

    def _need(self, key: str) -> int:
        kind, name, version = _parted(key)
        if self._is_served(name, kind):
            return 0
        with self._of_version(name, kind, version) as file:
            return plan(file, self.options).need_bytes

    @contextmanager
    def _of_version(self, name: str, kind: GgufKind, version: str) -> Iterator[GgufFile]:
        """The file; what fails with one that has meanwhile taken its place is no fault of it."""
        try:
            yield self._file(name, kind, version)
        except ModelUnavailableError:
            self._file(name, kind, version)
            raise

    def _file(self, name: str, kind: GgufKind, version: str) -> GgufFile:
        """The file, if it is still this one; else `ReplacedFileError`."""
        file = self.folder.find(name, kind)
        if file.version != version:
            raise ReplacedFileError(
                f"the file of the {kind} model {name!r} was replaced while it was at work"
            )
        return file

    def _sweep(self) -> None:
        while not self._closed.wait(self.options.sweep_s):
            try:
                self.unload_idle()
            except ModelFailedError:
                log.exception("idle models could not be unloaded")


def _key(kind: GgufKind, name: str, version: str = "") -> str:
    return f"{kind}/{name}/{version}"


def _parted(key: str) -> tuple[GgufKind, str, str]:
    folder, _, rest = key.partition("/")
    name, _, version = rest.rpartition("/")  # a server's name may hold more of them
    (kind,) = (kind for kind in KINDS if kind == folder)
    return kind, name, version


def _told(key: str) -> str:
    return key.rpartition("/")[0]
