"""The custom resource `RagBaseBenchmark`: latency and quality of search, measured in place."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.tasks import SET_ONCE, TaskSpec, TaskStatus
from ragbase_operator.models.texts import SET, Folder, ObjectName, by_key

__all__ = [
    "Dataset",
    "Latency",
    "Mode",
    "Quality",
    "RagBaseBenchmarkSpec",
    "RagBaseBenchmarkStatus",
]

Mode = Literal["hybrid", "keyword", "semantic"]
_ALL_MODES: tuple[Mode, ...] = ("keyword", "semantic", "hybrid")
Milliseconds = Annotated[float, Field(ge=0)]


class Dataset(Part):
    """A judged dataset: corpus.jsonl, queries.jsonl and qrels.tsv; left out: the built-in one."""

    claim_name: ObjectName | None = Field(
        default=None, description="Claim that holds the dataset; left out: the built-in one."
    )
    folder: Folder | None = Field(
        default=None, description="The dataset's folder in that claim; left out: its root."
    )
    rules = (
        Rule(
            "!has(self.folder) || has(self.claimName)",
            "`folder` needs `claimName`, the claim in which it lies",
        ),
    )


class RagBaseBenchmarkSpec(TaskSpec):
    """One benchmark of a RagBase, over its API. Set once."""

    dataset: Dataset = Field(
        default_factory=Dataset, description="Whose documents and queries; default: the built-in."
    )
    latency: bool = Field(default=True, description="Measure how fast searches are.")
    quality: bool = Field(default=True, description="Measure how good the answers are.")
    modes: list[Mode] = Field(
        default_factory=lambda: list(_ALL_MODES),
        min_length=1,
        max_length=3,
        description="Modes whose latency is measured; quality is always that of all modes.",
        json_schema_extra=SET,
    )
    concurrency: list[Annotated[int, Field(ge=1, le=256)]] = Field(
        default_factory=lambda: [1, 8],
        min_length=1,
        max_length=8,
        description="Callers at once, one run each.",
        json_schema_extra=SET,
    )
    requests: int = Field(
        default=300, ge=1, le=1_000_000, description="Timed calls a mode and concurrency."
    )
    top_k: int = Field(default=10, ge=1, le=100, description="Rows asked for.")
    rerank: bool = Field(default=False, description="Rerank in mode hybrid, for latency.")
    collection: str | None = Field(
        default=None,
        pattern="^[a-z0-9][a-z0-9_-]{0,62}$",
        max_length=63,
        description="Collection that holds the dataset, or is to keep it; left out: one that is "
        "deleted afterwards.",
    )
    language: str | None = Field(
        default=None,
        min_length=2,
        max_length=32,
        description="Language of a collection that is made for it.",
    )
    rules = (
        SET_ONCE,
        Rule("self.latency || self.quality", "nothing to measure: set `latency` or `quality`"),
        Rule(
            "!self.rerank || self.modes.exists(m, m == 'hybrid')",
            "`rerank` is for mode hybrid: add it to `modes`",
        ),
    )


class Latency(Part):
    """Times of one mode with so many callers, as those saw them, in milliseconds."""

    mode: str = Field(max_length=63, description="Mode of the searches.")
    concurrency: int = Field(ge=1, description="Callers at once.")
    p50_ms: Milliseconds = Field(description="Half of the calls took no longer.")
    p95_ms: Milliseconds = Field(description="95 of 100 calls took no longer.")
    p99_ms: Milliseconds = Field(description="99 of 100 calls took no longer.")
    queries_per_second: float | None = Field(default=None, ge=0, description="Throughput.")
    failed: int = Field(default=0, ge=0, description="Calls that failed; left out of the times.")
    degraded: int = Field(default=0, ge=0, description="Answers that lacked a configured part.")


class Quality(Part):
    """How good the answers of one mode were."""

    mode: str = Field(max_length=63, description="Mode of the searches.")
    ndcg10: float | None = Field(default=None, ge=0, le=1, description="nDCG@10.")
    measures: dict[str, float] = Field(
        default_factory=dict, max_length=32, description="All measures by name, as ir-measures has."
    )
    queries: int | None = Field(default=None, ge=0, description="Judged queries.")
    failed: int = Field(default=0, ge=0, description="Queries that failed.")
    degraded: int = Field(default=0, ge=0, description="Answers that lacked a configured part.")


class RagBaseBenchmarkStatus(TaskStatus):
    """How the benchmark went, and its result."""

    dataset: str | None = Field(
        default=None, max_length=512, description="Name of the dataset that was measured."
    )
    latency: list[Latency] = Field(
        default_factory=list,
        max_length=64,
        description="A row for each mode and concurrency.",
        json_schema_extra=by_key("mode", "concurrency"),
    )
    quality: list[Quality] = Field(
        default_factory=list,
        max_length=16,
        description="A row for each mode.",
        json_schema_extra=by_key("mode"),
    )
    errors: int | None = Field(default=None, ge=0, description="Calls that failed, in all.")
