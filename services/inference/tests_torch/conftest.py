"""Shared by the tests that need torch: small random models of each family, made on the fly.

``RAGBASE_REQUIRE=torch`` turns a skipped test of this suite into a failed one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from functools import cache
from pathlib import Path

import pytest

from ragbase_inference.backends.open import AnyModel, open_model

REQUIRED = "torch" in os.environ.get("RAGBASE_REQUIRE", "").replace(",", " ").split()

Open = Callable[..., AnyModel]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped, but this suite is required"
    return report


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The model cache of this test run; the user's own is left alone."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGBASE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``models(make_qwen, positions=512)`` writes a model once and gives its folder."""

    @cache
    def made(make: Callable[..., Path], *args: str, **kwargs: object) -> Path:
        return make(tmp_path_factory.mktemp("model") / "it", *args, **kwargs)

    return made


@pytest.fixture
def opened() -> Iterator[Open]:
    """`open_model`, with an end."""
    held: list[AnyModel] = []

    def open_it(folder: Path | str, **options: object) -> AnyModel:
        held.append(open_model(str(folder), **{"backend": "torch", "threads": 2, **options}))
        return held[-1]

    yield open_it
    for model in held:
        model.close()
