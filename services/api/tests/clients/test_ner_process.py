"""spaCy in a process of its own: real model, real process, whatever happens to it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from ragbase.clients.ner_process import SpacyNer
from ragbase.clients.ner_spacy import SpacyModel, find_model
from ragbase.errors import DeadlineExceededError, UnavailableError

from ..eventually import eventually

TEXT = "Ada Lovelace met Charles Babbage in London on 5 June 1833."


def model() -> SpacyModel:
    found = find_model("en_core_web_sm")
    assert found is not None, "the extra `ner` belongs to the tests' lock"
    return found


@pytest_asyncio.fixture(scope="module")
async def ner() -> AsyncIterator[SpacyNer]:
    """One process for all tests that leave it alive."""
    own = SpacyNer(model())
    yield own
    await own.aclose()


def test_a_model_is_found_without_importing_spacy() -> None:
    found = model()
    assert (found.name, found.language) == ("en_core_web_sm", "en")
    assert found.version.startswith("3.8")
    assert "spacy" not in sys.modules


@pytest.mark.parametrize("name", ["no_such_model", "json", "not a name", "/no/such/folder"])
def test_what_is_no_model_is_not_found(name: str) -> None:
    assert find_model(name) is None


def test_a_folder_is_a_model_too() -> None:
    package = Path(__import__("importlib.util").util.find_spec(model().place).origin).parent
    [folder] = package.glob("en_core_web_sm*-*")
    found = find_model(str(folder))
    assert found is not None
    assert (found.place, found.language) == (str(folder), "en")


async def test_names_are_found_with_their_places_and_our_types(ner: SpacyNer) -> None:
    [spans, nothing] = await ner.spans([TEXT, ""])
    assert [(TEXT[one.start : one.end], one.type) for one in spans] == [
        ("Ada Lovelace", "person"),
        ("Charles Babbage", "person"),
        ("London", "location"),
    ]
    assert nothing == []


async def test_places_are_code_points(ner: SpacyNer) -> None:
    text = f"😀 Ünïcödé. {TEXT}"
    [spans] = await ner.spans([text])
    assert {text[one.start : one.end] for one in spans} >= {"Ada Lovelace", "London"}


async def test_many_texts_and_callers_each_get_their_own(ner: SpacyNer) -> None:
    texts = [
        f"Mr Smith number {number} lives in {city}."
        for number in range(20)
        for city in ("Paris", "Rome")
    ]
    both = await asyncio.gather(ner.spans(texts), ner.spans(list(reversed(texts))))
    assert both[0] == both[1][::-1]
    for text, spans in zip(texts, both[0], strict=True):
        assert text[-6:-1].strip() in {text[one.start : one.end] for one in spans}


async def test_a_killed_process_is_an_error_once_and_then_another(ner: SpacyNer) -> None:
    await ner.spans([TEXT])
    assert ner.process_id is not None
    os.kill(ner.process_id, signal.SIGKILL)
    with pytest.raises(UnavailableError) as caught:
        await ner.spans([TEXT])
    assert caught.value.code == "ner_unavailable"
    [spans] = await ner.spans([TEXT])
    assert spans


async def test_a_cancelled_caller_leaves_no_answer_for_the_next(ner: SpacyNer) -> None:
    work = asyncio.create_task(ner.spans([TEXT] * 300))
    await asyncio.sleep(0.1)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await ner.spans([""]) == [[]]


async def test_too_late_is_said(ner: SpacyNer) -> None:
    await ner.spans([TEXT])
    with pytest.raises(DeadlineExceededError) as caught:
        await ner.spans([TEXT] * 2000, within_s=0.05)
    assert caught.value.code == "ner_timeout"
    assert await ner.spans([""]) == [[]]


async def test_a_model_that_cannot_be_loaded_is_an_error() -> None:
    broken = SpacyNer(replace(model(), place="json"))
    with pytest.raises(UnavailableError, match="could not be loaded"):
        await broken.spans([TEXT])
    await broken.aclose()


async def test_an_idle_process_ends_and_comes_back() -> None:
    own = SpacyNer(model(), idle_s=0.1)
    await own.spans([TEXT])

    async def ended() -> bool:
        return own.process_id is None

    await eventually(ended)
    assert await own.spans([TEXT])
    await own.aclose()
    assert own.process_id is None


async def test_the_process_sees_nothing_of_our_environment(
    ner: SpacyNer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It holds passwords; and texts come from anywhere."""
    monkeypatch.setenv("RAGBASE_ADMIN_KEY", "rb_secret")
    own = SpacyNer(model())
    await own.spans([TEXT])
    if sys.platform == "linux":
        environment = await asyncio.to_thread(Path(f"/proc/{own.process_id}/environ").read_bytes)
        assert b"RAGBASE_ADMIN_KEY" not in environment
    await own.aclose()
