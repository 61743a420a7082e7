"""Models are loaded once, whoever asks first."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ragbase_inference.errors import ClosedError
from ragbase_inference.registry import ModelRegistry


class Model:
    def __init__(self, name: str) -> None:
        self.name = name
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_two_callers_at_once_load_once() -> None:
    loads: list[str] = []
    started, go_on = threading.Event(), threading.Event()

    def load(name: str) -> Model:
        loads.append(name)
        started.set()
        assert go_on.wait(10)
        return Model(name)

    registry = ModelRegistry(load)
    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(registry.get, "a") for _ in range(2)]
        assert started.wait(10)
        go_on.set()
        one, two = (future.result(10) for future in both)
    assert one is two
    assert loads == ["a"]
    assert registry.loaded() == ["a"]


def test_a_slow_load_does_not_hold_up_another_model() -> None:
    go_on = threading.Event()

    def load(name: str) -> Model:
        assert name != "slow" or go_on.wait(10)
        return Model(name)

    registry = ModelRegistry(load)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(registry.get, "slow")
        assert registry.get("quick").name == "quick"
        go_on.set()
        slow.result(10)


def test_a_failed_load_is_tried_again() -> None:
    failures = [OSError("down")]

    def load(name: str) -> Model:
        if failures:
            raise failures.pop()
        return Model(name)

    registry = ModelRegistry(load)
    with pytest.raises(OSError, match="down"):
        registry.get("a")
    assert registry.get("a").name == "a"


def test_close_closes_all_and_refuses_more() -> None:
    registry = ModelRegistry(Model)
    models = [registry.get(name) for name in "ab"]
    registry.close()
    assert all(model.closed for model in models)
    with pytest.raises(ClosedError):
        registry.get("a")


def test_a_model_that_comes_too_late_is_closed() -> None:
    registry: ModelRegistry[Model]
    late: list[Model] = []

    def load(name: str) -> Model:
        registry.close()
        late.append(Model(name))
        return late[0]

    registry = ModelRegistry(load)
    with pytest.raises(ClosedError):
        registry.get("a")
    assert late[0].closed


def test_an_unloaded_model_is_closed_and_loaded_anew() -> None:
    registry = ModelRegistry(Model)
    first = registry.get("a")
    registry.unload("a")
    registry.unload("never loaded")
    assert first.closed
    assert registry.loaded() == []
    assert registry.get("a") is not first
