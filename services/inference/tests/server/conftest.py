"""Servers for the tests: the real MiniLM, and models under the test's control."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ragbase_inference.server.run import open_from
from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.tokens import TextTokenizer

from ..conftest import word_piece
from ..scripted import Scripted
from .live import Live, serving

Serve = Callable[..., Live]


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> TextTokenizer:
    """A BERT tokenizer of the letters and a few words."""
    folder: Path = tmp_path_factory.mktemp("tokenizer")
    word_piece().save(str(folder / "tokenizer.json"))
    return TextTokenizer(folder)


@pytest.fixture
def model(tokenizer: TextTokenizer) -> Iterator[Scripted]:
    """An embedding model, unless the test makes it another."""
    scripted = Scripted(tokenizer)
    yield scripted
    scripted.release()


@pytest.fixture
def other_model(tokenizer: TextTokenizer) -> Iterator[Scripted]:
    """A second one."""
    scripted = Scripted(tokenizer)
    yield scripted
    scripted.release()


@pytest.fixture
def serve(model: Scripted) -> Iterator[Serve]:
    """``serve(model, max_client_batch_size=…)``: a server of one model, or of a dict of them."""
    with ExitStack() as stack:
        stack.callback(model.release)

        def start(served: Scripted | dict[str, Any] = model, **options: Any) -> Live:
            if isinstance(served, Scripted):
                settings = ServerSettings(model_id="test/scripted", **options)
                return stack.enter_context(serving(settings, lambda _: served))
            names = tuple(f"{name}=test/{name}" for name in served)
            settings = ServerSettings(model=names, **options)
            return stack.enter_context(serving(settings, lambda spec: served[spec.name]))

        yield start


@pytest.fixture(scope="session")
def minilm_server() -> Iterator[Live]:
    """``ragbase-inference serve`` with its defaults."""
    settings = ServerSettings()
    with serving(settings, open_from(settings)) as live:
        yield live
