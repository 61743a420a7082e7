"""A loaded model at work: inputs in, results and times out."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ragbase_inference.backends.open import AnyModel
from ragbase_inference.batcher import Batcher
from ragbase_inference.embedder import BATCH_PADDING
from ragbase_inference.errors import InferenceError, ModelFailedError, NotFiniteError
from ragbase_inference.kinds import EmbeddingModel, Kind, ModelFacts, NerText, PairModel, SpanModel
from ragbase_inference.serving.jobs import Item, Job, Task, run_jobs
from ragbase_inference.serving.observer import Observer
from ragbase_inference.serving.spec import ServingOptions

__all__ = ["Outcome", "RunningModel", "WrongKindError"]

log = logging.getLogger(__name__)

_INLINE_CHARS = 4_000
"""Texts of fewer characters in all are tokenised on the event loop, in under half a millisecond:
the hop to a thread and back costs as much, and waits its turn behind longer ones."""

T = TypeVar("T")


class WrongKindError(InferenceError):
    """The model is of another kind than the call needs."""

    def __init__(self, wanted: str) -> None:
        super().__init__(f"the model is no {wanted}")
        self.wanted = wanted


@dataclass(frozen=True, slots=True)
class Outcome:
    """Results of one call in order; the seconds are means over its inputs."""

    results: list[Any]
    queue_s: float
    inference_s: float
    jobs: Sequence[Job]


class RunningModel:
    """One model, its batcher, and whether it still answers. Made and used on one event loop."""

    def __init__(
        self, model: AnyModel, options: ServingOptions, observer: Observer, tokenizing: Executor
    ) -> None:
        self.model = model
        self._observer = observer
        self._tokenizing = tokenizing
        self._failing = False
        self._probe: asyncio.Task[None] | None = None
        self._dead = False
        facts = model.facts
        self._batcher = Batcher[Job, Any](
            self._run,
            cost=lambda job: job.size,
            max_cost=min(options.max_batch_tokens, facts.batch_tokens),
            max_items=options.batch_items,
            max_padding=BATCH_PADDING if facts.device == "cpu" else None,
            max_waiting=64 * options.max_concurrent_requests,  # permits bound it, one an input
            on_oom=self._out_of_memory,
            name="model",
        )

    @property
    def facts(self) -> ModelFacts:
        """What is known of the model."""
        return self.model.facts

    def embedding(self) -> EmbeddingModel:
        """The model, if it is an embedding model; else `WrongKindError`."""
        return cast("EmbeddingModel", self._of_kind("embedding"))

    def reranker(self) -> PairModel:
        """The model, if it is a reranker; else `WrongKindError`."""
        return cast("PairModel", self._of_kind("reranker"))

    def classifier(self) -> PairModel:
        """The model, if it is a classifier or a reranker (one label); else `WrongKindError`."""
        return cast("PairModel", self._of_kind("classifier", "reranker"))

    def ner(self) -> SpanModel:
        """The model, if it finds entities; else `WrongKindError`."""
        return cast("SpanModel", self._of_kind("ner"))

    def _of_kind(self, *kinds: Kind) -> AnyModel:
        if self.facts.kind not in kinds:
            raise WrongKindError(kinds[0])
        return self.model

    async def tokenize(self, characters: int, call: Callable[[], T]) -> T:
        """``call()``, on a thread of its own where ``characters`` are many."""
        if characters < _INLINE_CHARS:
            return call()
        return await asyncio.get_running_loop().run_in_executor(self._tokenizing, call)

    async def run(self, task: Task, items: Sequence[Item]) -> Outcome:
        """Run all items; the first failure fails the call and withdraws the rest."""
        jobs = [Job(task, item) for item in items]
        try:
            if len(jobs) == 1:
                results = [await self._batcher.submit(jobs[0])]
            else:
                results = await self._batcher.submit_all(jobs)
        except asyncio.CancelledError:
            self._observer.dropped(sum(job.started is None for job in jobs))
            raise
        return Outcome(
            results,
            sum(job.queue_s for job in jobs) / len(jobs),
            sum(job.inference_s for job in jobs) / len(jobs),
            jobs,
        )

    def _run(self, jobs: Sequence[Job]) -> list[Any]:
        try:
            results = run_jobs(self.model, jobs, self._observer)
        except InferenceError:
            self._failing = True
            raise
        except Exception as error:
            self._failing = True
            log.exception("%s failed on %d inputs", self.facts.model, len(jobs))
            raise ModelFailedError("the model failed; the server's log says how") from error
        if not any(isinstance(one, NotFiniteError) for one in results):
            self._failing = self._dead = False
        return results

    def _out_of_memory(self, items: int) -> None:
        if items > 1:
            self._observer.out_of_memory_split()

    @property
    def waiting(self) -> int:
        """Inputs that wait for a batch."""
        return self._batcher.waiting

    def is_healthy(self) -> bool:
        """Whether the model answers; never waits for it.

        After a failure each question starts a run of a tiny input, whose outcome the next one
        hears: one bad input says nothing of the model, a lost device fails every input.
        """
        if self._failing and self._probe is None:
            self._probe = asyncio.get_running_loop().create_task(self._try_again())
        return not self._dead

    async def _try_again(self) -> None:
        try:
            await self._batcher.submit(_tiny_job(self.model))
        except Exception:
            self._dead = True
            log.exception("%s fails on an input that is known to be good", self.facts.model)
        finally:
            self._probe = None

    async def aclose(self) -> None:
        """Fail what waits, let the running batch end. The model itself is its registry's."""
        if self._probe is not None:
            self._probe.cancel()
        await self._batcher.aclose()


def _tiny_job(model: AnyModel) -> Job:
    match model.facts.kind:
        case "embedding":
            (item,) = cast("EmbeddingModel", model).encode(["health"], cut="right")
            return Job("embed", item)
        case "ner":
            return Job("spans", NerText("health", ("thing",), 0.5))
        case _:
            pair = ("health", "health")
            (item,) = cast("PairModel", model).encode_pairs([pair], cut="right")
            return Job("logits", item)
