"""The models of a process by name: each is loaded once, whoever asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from ragbase_inference.errors import ClosedError

__all__ = ["ModelRegistry"]


class Closeable(Protocol):
    """Anything that holds memory or threads until told."""

    def close(self) -> None:
        """Release them; the second call does nothing."""
        ...


Model = TypeVar("Model", bound=Closeable)


class ModelRegistry(Generic[Model]):
    """Loads by ``load(name)``; blocking and safe to call from any thread.

    A load that fails is not remembered: the next call tries again.
    """

    def __init__(self, load: Callable[[str], Model]) -> None:
        self._load = load
        self._models: dict[str, Model] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()
        self._closed = False

    def get(self, name: str) -> Model:
        """The model, loaded now if need be; two callers at once load it once."""
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            with self._guard:
                self._check_open()
                if name in self._models:
                    return self._models[name]
            return self._keep(name, self._load(name))

    def _keep(self, name: str, model: Model) -> Model:
        with self._guard:
            if not self._closed:
                self._models[name] = model
                return model
        model.close()  # closed while this one was loading
        raise ClosedError("the models are closed")

    def _check_open(self) -> None:
        if self._closed:
            raise ClosedError("the models are closed")

    def loaded(self) -> list[str]:
        """Names of the models in memory, in the order they came."""
        with self._guard:
            return list(self._models)

    def unload(self, name: str) -> None:
        """Close one model, if it is loaded; the next `get` loads it again."""
        with self._guard:
            lock = self._locks.setdefault(name, threading.Lock())
        with lock:
            with self._guard:
                model = self._models.pop(name, None)
            if model is not None:
                model.close()

    def close(self) -> None:
        """Close all models; later calls of `get` raise `ClosedError`."""
        with self._guard:
            self._closed = True
            models = list(self._models.values())
            self._models.clear()
        for model in models:
            model.close()
