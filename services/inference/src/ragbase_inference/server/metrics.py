"""Metrics under TEI's names (with a ``model`` label), and ours.

TEI's counters have no ``_total``, which prometheus-client adds to each: it is taken off again when
they are written out. Buckets are TEI's (``router/src/prometheus.rs``).
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)

from ragbase_inference.server.compute import Compute
from ragbase_inference.server.errors import Reason
from ragbase_inference.serving.served import ServedModel

__all__ = ["Method", "ModelMetrics", "ServerMetrics", "Stage"]

Method: TypeAlias = Literal["single", "batch"]
Stage: TypeAlias = Literal["embed", "predict"]

_PARTS = ("", "tokenization_", "queue_", "inference_")
_SECONDS = tuple(1e-5 * 1.5**n for n in range(1, 36))
_LENGTHS = tuple(2.0**n for n in range(20))
_SIZES = tuple(2.0**n for n in range(13))
_TOKENS = tuple(2.0**n for n in range(21))
_TOTAL = re.compile(r"^((?:# (?:HELP|TYPE) )?te_\w+?)_total\b", re.MULTILINE)
_CREATED = re.compile(r"^(?:# (?:HELP|TYPE) )?\w+_created\b.*\n", re.MULTILINE)


class ServerMetrics:
    """All metrics of a process, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._models: dict[str, ModelMetrics] = {}
        self.request_count = self._counter("te_request_count", "Requests.", "method")
        self.request_success = self._counter("te_request_success", "Answered requests.", "method")
        self.request_failure = self._counter("te_request_failure", "Failures by reason.", "err")
        self.stage_count = {
            stage: self._counter(f"te_{stage}_count", f"Inputs to {stage}.")
            for stage in get_args(Stage)
        }
        self.stage_success = {
            stage: self._counter(f"te_{stage}_success", f"Inputs that came through {stage}.")
            for stage in get_args(Stage)
        }
        self.durations = {
            (stage, part): self._histogram(
                f"te_{stage}_{part}duration", f"Seconds of {stage}, {part or 'all'}.", _SECONDS
            )
            for stage in ("request", *get_args(Stage))
            for part in _PARTS
        }
        self.input_length = self._histogram(
            "te_request_input_length", "Tokens of a request.", _LENGTHS
        )
        self.batch_size = self._histogram("te_batch_next_size", "Inputs of a batch.", _SIZES)
        self.batch_tokens = self._histogram(
            "te_batch_next_tokens", "Tokens of a batch, with padding.", _TOKENS
        )
        self.queue_size = self._gauge("te_queue_size", "Inputs that wait for a batch.")
        self.loaded = self._gauge("ragbase_inference_model_loaded", "1 while a model is in memory.")
        self.memory = self._gauge(
            "ragbase_inference_model_memory_bytes", "Memory that a model holds, an estimate."
        )
        self.oom_splits = self._counter(
            "ragbase_inference_oom_splits", "Batches halved because the device had no room."
        )

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, ["model", *labels], registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, ["model"], registry=self.registry)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...]) -> Histogram:
        return Histogram(name, text, ["model"], buckets=buckets, registry=self.registry)

    def of(self, name: str) -> ModelMetrics:
        """Those of one model, the same at every call."""
        if name not in self._models:
            self._models[name] = ModelMetrics(self, name)
        return self._models[name]

    def watch(self, served: ServedModel) -> None:
        """Read what is true of a model at the time of the scrape."""
        name = served.spec.name
        self.queue_size.labels(name).set_function(lambda: served.waiting)
        self.loaded.labels(name).set_function(lambda: served.state == "loaded")
        self.memory.labels(name).set_function(served.memory_bytes)

    def render(self) -> bytes:
        """The text format, version 0.0.4."""
        text = generate_latest(self.registry).decode()
        return _TOTAL.sub(r"\1", _CREATED.sub("", text)).encode()


class ModelMetrics:
    """The metrics of one model; an `Observer` of its batches."""

    def __init__(self, all_models: ServerMetrics, name: str) -> None:
        self._count = {
            method: (
                all_models.request_count.labels(name, method),
                all_models.request_success.labels(name, method),
            )
            for method in get_args(Method)
        }
        self._failures = {
            reason: all_models.request_failure.labels(name, reason)
            for reason in (*get_args(Reason), "dropped")
        }
        self._stage_count = {
            stage: (
                all_models.stage_count[stage].labels(name),
                all_models.stage_success[stage].labels(name),
            )
            for stage in get_args(Stage)
        }
        self._durations = {
            stage: tuple(all_models.durations[stage, part].labels(name) for part in _PARTS)
            for stage in ("request", *get_args(Stage))
        }
        self._input_length = all_models.input_length.labels(name)
        self._batch_size = all_models.batch_size.labels(name)
        self._batch_tokens = all_models.batch_tokens.labels(name)
        self._oom_splits = all_models.oom_splits.labels(name)

    def begun(self, method: Method) -> None:
        """A request was understood."""
        self._count[method][0].inc()

    def answered(self, method: Method, compute: Compute, total_s: float) -> None:
        """A request was answered."""
        self._count[method][1].inc()
        seconds = (total_s, compute.tokenization_s, compute.queue_s, compute.inference_s)
        for histogram, value in zip(self._durations["request"], seconds, strict=True):
            histogram.observe(value)
        self._input_length.observe(compute.tokens)

    def failed(self, reason: Reason) -> None:
        """A request was refused, or failed."""
        self._failures[reason].inc()

    def admitted(self, stage: Stage, inputs: int) -> None:
        """So many inputs are on their way."""
        self._stage_count[stage][0].inc(inputs)

    def came_through(self, stage: Stage, compute: Compute) -> None:
        """All inputs of a call have their results."""
        self._stage_count[stage][1].inc(len(compute.jobs))
        whole, tokenization, queue, inference = self._durations[stage]
        for job in compute.jobs:
            whole.observe(compute.tokenization_s + job.queue_s + job.inference_s)
            tokenization.observe(compute.tokenization_s)
            queue.observe(job.queue_s)
            inference.observe(job.inference_s)

    def batch(self, size: int, tokens: int) -> None:
        """A batch begins."""
        self._batch_size.observe(size)
        self._batch_tokens.observe(tokens)

    def out_of_memory_split(self) -> None:
        """A batch is halved."""
        self._oom_splits.inc()

    def dropped(self, inputs: int) -> None:
        """Inputs whose caller has gone."""
        self._failures["dropped"].inc(inputs)
