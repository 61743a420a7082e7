"""A served model's life: permits, loading, unloading, closing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.errors import ClosedError, ModelUnavailableError, QueueFullError
from ragbase_inference.serving.models import ServedModels
from ragbase_inference.serving.spec import ModelSpec, ServingOptions
from ragbase_inference.tokens import TextTokenizer

from ..conftest import word_piece
from ..scripted import Scripted

Make = Callable[..., ServedModels]


@pytest.fixture
def tokenizer(tmp_path: Path) -> TextTokenizer:
    word_piece().save(str(tmp_path / "tokenizer.json"))
    return TextTokenizer(tmp_path)


@pytest.fixture
def loads() -> list[Scripted]:
    """Models in the order of their loads."""
    return []


@pytest.fixture
async def make(tokenizer: TextTokenizer, loads: list[Scripted]) -> AsyncIterator[Make]:
    made: list[ServedModels] = []

    def build(*names: str, **options: Any) -> ServedModels:
        def load(_: ModelSpec) -> Scripted:
            loads.append(Scripted(tokenizer))
            return loads[-1]

        specs = [ModelSpec(name, f"test/{name}") for name in names or ("one",)]
        made.append(ServedModels(specs, ServingOptions(**options), load))
        return made[-1]

    yield build
    for model in loads:
        model.release()
    for models in made:
        await models.aclose()


async def embed(models: ServedModels, text: str = "a") -> Any:
    served = models["one"]
    with served.admitted(1):
        running = await served.running()
        encoded = running.embedding().encode([text], cut="right")
        return await running.run("embed", encoded)


async def test_permits_are_refused_at_once_and_given_back(make: Make) -> None:
    served = make(max_concurrent_requests=3)["one"]
    with served.admitted(2):
        assert served.in_flight == 2
        with pytest.raises(QueueFullError), served.admitted(2):
            pass
        with served.admitted(1):
            assert served.in_flight == 3
    with pytest.raises(RuntimeError), served.admitted(3):
        raise RuntimeError
    assert served.in_flight == 0


async def test_eager_models_are_there_before_the_first_call(
    make: Make, loads: list[Scripted]
) -> None:
    models = make("one", "two")
    models.preload()
    assert len(loads) == 2
    await models.start()
    assert [served.state for served in models] == ["loaded", "loaded"]
    assert [served.memory_bytes() for served in models] == [1000, 1000]


async def test_lazy_models_are_loaded_once_by_whoever_comes_first(
    make: Make, loads: list[Scripted]
) -> None:
    models = make(lazy=True)
    models.preload()
    await models.start()
    assert (loads, models["one"].facts) == ([], None)
    await asyncio.gather(*(embed(models, text) for text in "abc"))
    assert len(loads) == 1


async def test_a_model_in_use_is_not_unloaded(make: Make, loads: list[Scripted]) -> None:
    models = make()
    served = models["one"]
    await embed(models)
    with served.in_use():
        assert not await served.unload()
    assert await served.unload()
    assert loads[0].closed.is_set()
    assert not await served.unload()
    assert served.facts is not None
    await embed(models)
    assert len(loads) == 2


async def test_a_call_during_an_unload_waits_and_loads_anew(
    make: Make, loads: list[Scripted]
) -> None:
    models = make()
    served = models["one"]
    await embed(models)
    unloading, loading = await asyncio.gather(served.unload(), embed(models))
    assert unloading
    assert loading.results
    assert len(loads) == 2
    assert served.state == "loaded"


async def test_each_use_puts_the_idle_unload_off(make: Make, loads: list[Scripted]) -> None:
    models = make(idle_unload_s=0.05)
    await embed(models)
    with models["one"].in_use():
        assert not await asyncio.to_thread(loads[0].closed.wait, 0.15)
    assert await asyncio.to_thread(loads[0].closed.wait, 10)


async def test_an_eager_model_without_any_use_is_idle_too(
    make: Make, loads: list[Scripted]
) -> None:
    models = make(idle_unload_s=0.01)
    models.preload()
    await models.start()
    assert await asyncio.to_thread(loads[0].closed.wait, 10)


async def test_a_load_that_nobody_waits_for_holds_nothing_up(tokenizer: TextTokenizer) -> None:
    started, go_on = threading.Event(), threading.Event()

    def load(_: ModelSpec) -> Scripted:
        started.set()
        assert go_on.wait(30)
        return Scripted(tokenizer)

    models = ServedModels([ModelSpec("one", "x")], ServingOptions(), load)
    waits = asyncio.create_task(models["one"].running())
    assert await asyncio.to_thread(started.wait, 10)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert models["one"].state == "loading"
    await asyncio.wait_for(models.aclose(), 10)
    assert {one.state for one in models} == {"unloaded"}
    go_on.set()


async def test_a_model_whose_callers_left_during_its_load_is_unloaded_too(
    tokenizer: TextTokenizer,
) -> None:
    model, started, go_on = Scripted(tokenizer), threading.Event(), threading.Event()

    def load(_: ModelSpec) -> Scripted:
        started.set()
        assert go_on.wait(30)
        return model

    models = ServedModels([ModelSpec("one", "x")], ServingOptions(idle_unload_s=0.01), load)
    call = asyncio.create_task(embed(models))
    assert await asyncio.to_thread(started.wait, 10)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    go_on.set()
    assert await asyncio.to_thread(model.closed.wait, 10)
    await models.aclose()


async def test_a_load_that_failed_is_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def load(_: ModelSpec) -> Scripted:
        raise ModelUnavailableError("there is no disk")

    models = ServedModels([ModelSpec("one", "x")], ServingOptions(), load)
    with pytest.raises(ModelUnavailableError):
        await models["one"].running()
    assert "one cannot be loaded: there is no disk" in caplog.text
    await models.aclose()


async def test_closing_fails_what_waits(make: Make, loads: list[Scripted]) -> None:
    models = make()
    models.preload()
    await models.start()
    loads[0].hold()
    runs = asyncio.create_task(embed(models))
    assert await asyncio.to_thread(loads[0].busy.wait, 10)
    waits = asyncio.create_task(embed(models, "b"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(models.aclose())
    threading.Timer(0.01, loads[0].release).start()
    await closing
    assert (await runs).results
    with pytest.raises(ClosedError):
        await waits
    assert loads[0].closed.is_set()


@pytest.mark.parametrize("names", [[], ["a", "a"]])
def test_models_need_names_of_their_own(names: list[str]) -> None:
    with pytest.raises(ValueError, match="a name of its own"):
        ServedModels([ModelSpec(n, "x") for n in names], ServingOptions(), lambda _: None)  # type: ignore[arg-type, return-value]
