"""A batch of jobs: results in order, times, NaN, mixed tasks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ragbase_inference.errors import NotFiniteError
from ragbase_inference.serving.jobs import Job, run_jobs
from ragbase_inference.tokens import TextTokenizer

from ..conftest import word_piece
from ..scripted import Scripted


class Seen:
    def __init__(self) -> None:
        self.batches: list[tuple[int, int]] = []

    def batch(self, size: int, tokens: int) -> None:
        self.batches.append((size, tokens))

    def out_of_memory_split(self) -> None:
        raise AssertionError

    def dropped(self, inputs: int) -> None:
        raise AssertionError


@pytest.fixture
def model(tmp_path: Path) -> Scripted:
    word_piece().save(str(tmp_path / "tokenizer.json"))
    return Scripted(TextTokenizer(tmp_path))


def jobs_of(model: Scripted, *texts: str) -> list[Job]:
    return [Job("embed", one) for one in model.encode(texts, cut="right")]


def test_results_come_in_order_with_their_times(model: Scripted) -> None:
    seen, jobs = Seen(), jobs_of(model, "a", "b c d")
    results = run_jobs(model, jobs, seen)
    np.testing.assert_array_equal(results, model.embed(model.encode(["a", "b c d"], cut=None)))
    assert seen.batches == [(2, 10)]  # padded to the longer one
    for job in jobs:
        assert job.queue_s >= 0
        assert job.inference_s > 0


def test_jobs_of_several_tasks_share_a_batch(model: Scripted) -> None:
    first, second, third = jobs_of(model, "a", "b", "c")
    second.task = "embed_tokens"
    one, tokens, other = run_jobs(model, [first, second, third], Seen())
    assert (one.shape, tokens.shape, other.shape) == ((8,), (3, 8), (8,))
    np.testing.assert_array_equal(other, model.embed(model.encode(["c"], cut=None))[0])


def test_nan_fails_its_own_job(model: Scripted) -> None:
    (model.poison,) = model.tokenizer.encode(["the"], 16, special=False)[0].ids
    good, bad = run_jobs(model, jobs_of(model, "a", "the"), Seen())
    assert np.isfinite(good).all()
    assert isinstance(bad, NotFiniteError)
