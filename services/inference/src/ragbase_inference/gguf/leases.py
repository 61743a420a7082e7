"""Who uses which model: none is closed under its users, and all together keep to a bound of memory.

Built on `ModelRegistry`, which loads each model once; this adds that one load runs at a time, that
idle models give way where memory is short, and that a model whose process has died is replaced.
"""

from __future__ import annotations

import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from time import monotonic
from typing import Generic, Protocol, TypeVar

from ragbase_inference.errors import ClosedError
from ragbase_inference.gguf.errors import NoRoomError, NotLoadedError, TooMuchMemoryError
from ragbase_inference.registry import ModelRegistry

__all__ = ["Leasable", "Leases"]

log = logging.getLogger(__name__)


class Leasable(Protocol):
    """A model that can be lent."""

    @property
    def alive(self) -> bool:
        """Whether it can still answer."""
        ...

    def memory_bytes(self) -> int:
        """Memory that it holds."""
        ...

    def close(self) -> None:
        """Give it back."""
        ...


Model = TypeVar("Model", bound=Leasable)


@dataclass(slots=True)
class _Use:
    users: int = 0
    leaving: bool = False
    """Somebody unloads it, now or once its users are done."""
    dead: bool = False
    """Its process has ended; the last user unloads it."""
    used: float = 0.0
    bytes: int = 0
    """Memory set aside for it; 0: it is not loaded."""
    model: Leasable | None = None
    """The one that is loaded."""

    @property
    def is_open(self) -> bool:
        return not self.leaving and not self.dead


class Leases(Generic[Model]):
    """Models by name. Blocking; safe to call from any thread."""

    def __init__(
        self,
        open_model: Callable[[str], Model],
        need: Callable[[str], int],
        *,
        memory_bytes: int | None,
        wait_s: float,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``need``: bytes that a model will take, 0 of a server's. ``wait_s``: longest wait for others to end."""
        self._registry = ModelRegistry[Model](self._load)
        self._open = open_model
        self._need = need
        self._memory_bytes = memory_bytes
        self._wait_s = wait_s
        self._clock = clock
        self._uses: dict[str, _Use] = defaultdict(_Use)
        self._changed = threading.Condition()
        self._loading = threading.Lock()
        self._closed = False

    @contextmanager
    def use(self, name: str) -> Iterator[Model]:
        """The model, loaded now if need be, and kept from being unloaded.

        Raises what ``open_model`` raises, `TooMuchMemoryError`, `NoRoomError`, `ClosedError`.
        """
        model = self._entered(name)
        try:
            yield model
        finally:
            self._leave(name, model)

    def _entered(self, name: str) -> Model:
        """The model, with us among its users. One that died while nobody used it is replaced."""
        model = self._enter(name)
        if model.alive:
            return model
        self._leave(name, model)
        return self._enter(name)

    def _enter(self, name: str) -> Model:
        with self._changed:
            use = self._uses[name]
            if not self._changed.wait_for(lambda: use.is_open or self._closed, self._wait_s):
                raise NoRoomError("the model is being unloaded")
            use.users += 1
        try:
            return self._registry.get(name)
        except BaseException:
            self._leave(name, None)
            raise

    def _leave(self, name: str, model: Model | None) -> None:
        with self._changed:
            use = self._uses[name]
            use.users -= 1
            use.used = self._clock()
            if model is not None and not model.alive and not use.dead:
                log.warning("the process of the model %s has ended", name)
                use.dead = True
            to_end = use.dead and not use.users and not use.leaving
            use.leaving = use.leaving or to_end
            self._changed.notify_all()
        if to_end:
            self._end(name)

    def _end(self, name: str) -> None:
        """Unload what nobody uses and nobody may enter; then let them in again."""
        try:
            self._registry.unload(name)
        finally:
            with self._changed:
                use = self._uses[name]
                use.leaving = use.dead = False
                use.bytes = 0
                use.model = None
                self._changed.notify_all()

    def _load(self, name: str) -> Model:
        need = self._need(name)
        # What takes no memory is a server's: nobody waits while it lets us wait.
        with self._loading if need else nullcontext():
            self._check_open()
            self._make_room(name, need)
            model = self._open(name)
            with self._changed:
                self._uses[name].bytes = model.memory_bytes()
                self._uses[name].model = model
            return model

    def _make_room(self, name: str, need: int) -> None:
        if self._memory_bytes is None:
            return
        if need > self._memory_bytes:
            raise TooMuchMemoryError(
                f"it needs {_mib(need)} of memory, and all models together may take "
                f"{_mib(self._memory_bytes)}"
            )
        until = self._clock() + self._wait_s
        while self._taken() + need > self._memory_bytes:
            idle = self._mark_idle()
            if idle is not None:
                log.info("unloading the model %s: %s needs its memory", idle, name)
                self._end(idle)
            elif not self._wait_for_change(until):
                raise NoRoomError("models that are at work take all memory")
            self._check_open()

    def _taken(self) -> int:
        with self._changed:
            return sum(use.bytes for name, use in self._uses.items() if self._lives(name))

    def _mark_idle(self) -> str | None:
        """Of the models that nobody uses the one unused for longest, closed to newcomers."""
        with self._changed:
            idle = self._idle()
            if not idle:
                return None
            found = min(idle, key=lambda name: self._uses[name].used)
            self._uses[found].leaving = True
            return found

    def _idle(self) -> list[str]:
        return [
            name
            for name in self._registry.loaded()
            if not self._uses[name].users and self._uses[name].is_open
        ]

    def _wait_for_change(self, until: float) -> bool:
        """False where the time is over. Looks again every so often: a change may slip by."""
        with self._changed:
            self._changed.wait(min(1.0, max(0.0, until - self._clock())))
        return self._clock() <= until

    def loaded(self) -> list[str]:
        """Names of models in memory; not of those whose process has ended."""
        with self._changed:
            return [name for name in self._registry.loaded() if self._lives(name)]

    def _lives(self, name: str) -> bool:
        model = self._uses[name].model
        return model is not None and model.alive

    def unload(self, name: str) -> None:
        """Wait for its users, then close it; who comes meanwhile waits and loads it anew.

        Raises `NotLoadedError`, and `NoRoomError` where its users do not end in time.
        """
        with self._changed:
            if name not in self._registry.loaded() or not self._lives(name):
                raise NotLoadedError(f"{name} is not loaded")
            use = self._uses[name]
            if use.leaving:  # somebody else is at it
                self._changed.wait_for(lambda: not use.leaving, self._wait_s)
                return
            use.leaving = True
            if not self._changed.wait_for(lambda: not use.users or self._closed, self._wait_s):
                use.leaving = False
                self._changed.notify_all()
                raise NoRoomError("the model is at work; it was not unloaded")
        self._end(name)

    def unload_idle(self, longer_than_s: float, among: Collection[str] | None = None) -> list[str]:
        """Close the models, of all or of some, that nobody has used for so long; their names."""
        before = self._clock() - longer_than_s
        with self._changed:
            idle = [
                name
                for name in self._idle()
                if self._uses[name].used <= before and (among is None or name in among)
            ]
            for name in idle:
                self._uses[name].leaving = True
        for name in idle:
            self._end(name)
        return idle

    def close(self) -> None:
        """Close all, used or not; who waits, and later calls, get `ClosedError`."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._registry.close()

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the models are closed")


def _mib(count: int) -> str:
    return f"{count / 1024**2:,.0f} MiB"
