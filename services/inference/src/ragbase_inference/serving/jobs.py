"""One input on its way through a model, and the running of a batch of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, TypeAlias

import numpy as np

from ragbase_inference.errors import NotFiniteError
from ragbase_inference.kinds import NerText
from ragbase_inference.serving.observer import Observer
from ragbase_inference.tokens import Encoded

__all__ = ["Item", "Job", "Task", "run_jobs"]

Task: TypeAlias = Literal["embed", "embed_tokens", "logits", "spans"]
"""The method of a model that does it."""
Item: TypeAlias = Encoded | NerText


@dataclass(slots=True, eq=False)
class Job:
    """One input; its times are `perf_counter`'s, None until it has come so far."""

    task: Task
    item: Item
    queued: float = field(default_factory=perf_counter)
    started: float | None = None
    ended: float | None = None

    @property
    def size(self) -> int:
        """Tokens."""
        return len(self.item)

    @property
    def queue_s(self) -> float:
        """Seconds it waited for its batch."""
        return (self.started or self.queued) - self.queued

    @property
    def inference_s(self) -> float:
        """Seconds its batch took."""
        return (self.ended or 0.0) - (self.started or 0.0)


def run_jobs(model: Any, jobs: Sequence[Job], observer: Observer) -> list[Any]:
    """Results in order; a `NotFiniteError` stands in the place of one that holds NaN.

    ``model`` is of the kind that its jobs ask for. Raises what it raises.
    """
    started = perf_counter()
    for job in jobs:
        job.started = started
    observer.batch(len(jobs), len(jobs) * max(job.size for job in jobs))
    results = _by_task(model, jobs)
    ended = perf_counter()
    for job in jobs:
        job.ended = ended
    return results


def _by_task(model: Any, jobs: Sequence[Job]) -> list[Any]:
    """Almost always all jobs ask for the same; where not, each task is a run of its own."""
    tasks = dict.fromkeys(job.task for job in jobs)
    if len(tasks) == 1:
        return _run(model, jobs[0].task, [job.item for job in jobs])
    results: dict[int, Any] = {}
    for task in tasks:
        rows = [row for row, job in enumerate(jobs) if job.task == task]
        results |= zip(rows, _run(model, task, [jobs[row].item for row in rows]), strict=True)
    return [results[row] for row in range(len(jobs))]


def _run(model: Any, task: Task, items: list[Item]) -> list[Any]:
    results = list(getattr(model, task)(items))
    return [one if _is_finite(one) else NotFiniteError("the model answered NaN") for one in results]


def _is_finite(result: Any) -> bool:
    if isinstance(result, np.ndarray):
        return bool(np.isfinite(result).all())
    return all(math.isfinite(span.score) for span in result)
