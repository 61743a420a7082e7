"""``spec.embeddings``, ``spec.rerankers``: the model servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.pods import Image, PodOverrides, Resources, SecretKey

__all__ = ["Device", "Embeddings", "ExternalServer", "Gpu", "Reranker"]

Device = Literal["cpu", "cuda", "rocm"]
ModelName = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[A-Za-z0-9][\w./-]*$")]


class ExternalServer(Part):
    """A model server that somebody else runs."""

    url: str = Field(pattern="^https?://[^ ]+$", max_length=1024)
    api_key_secret_ref: SecretKey | None = None


class Gpu(Part):
    """Where a GPU workload may run, as data: nothing here names a vendor but the defaults."""

    resource_name: str = Field(default="amd.com/gpu", max_length=253)
    count: int = Field(default=1, ge=1, le=16)
    node_selector: dict[str, str] = Field(
        default_factory=lambda: {"feature.node.kubernetes.io/amd-gpu": "true"}, max_length=16
    )
    tolerations: list[dict[str, object]] = Field(default_factory=list, max_length=16)


class Embeddings(Part):
    """The embedding server; its model is set once an index exists (see `ReindexRequired`)."""

    engine: Literal["tei", "ragbase", "openai"] = "tei"
    model: ModelName = "Snowflake/snowflake-arctic-embed-l-v2.0"
    revision: str | None = Field(default=None, max_length=128)
    device: Device = "cpu"
    image: Image = Field(default_factory=Image)
    replicas: int = Field(default=1, ge=0, le=64)
    max_client_batch_size: int = Field(default=32, ge=1, le=4096)
    dtype: Literal["float32", "float16", "bfloat16"] | None = None
    gpu: Gpu = Field(default_factory=Gpu)
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "1", "memory": "2Gi"})
    )
    pod: PodOverrides = Field(default_factory=PodOverrides)
    external: ExternalServer | None = None
    rules = (
        Rule(
            "self.engine != 'tei' || self.device != 'rocm'",
            "TEI has no ROCm image: use engine ragbase on rocm",
        ),
        Rule(
            "self.engine != 'openai' || has(self.external)",
            "engine openai needs `external.url`",
        ),
    )


class Reranker(Part):
    """A reranker that searches may choose by name."""

    name: str = Field(pattern="^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$")
    model: ModelName = "BAAI/bge-reranker-v2-m3"
    revision: str | None = Field(default=None, max_length=128)
    engine: Literal["tei", "ragbase"] = "tei"
    device: Device = "cpu"
    image: Image = Field(default_factory=Image)
    replicas: int = Field(default=1, ge=0, le=64)
    timeout_seconds: int = Field(default=60, ge=1, le=3600)
    fallback: str | None = Field(
        default=None, max_length=30, description="Reranker that stands in when this one fails."
    )
    max_client_batch_size: int = Field(default=32, ge=1, le=4096)
    dtype: Literal["float32", "float16", "bfloat16"] | None = None
    gpu: Gpu = Field(default_factory=Gpu)
    share_with: str | None = Field(
        default=None,
        max_length=30,
        description="Name of the reranker in whose pod this model is served: one GPU is one pod.",
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "1", "memory": "2Gi"})
    )
    pod: PodOverrides = Field(default_factory=PodOverrides)
    external: ExternalServer | None = None
    rules = (
        Rule(
            "self.engine != 'tei' || self.device != 'rocm'",
            "TEI has no ROCm image: use engine ragbase on rocm",
        ),
        Rule(
            "self.engine != 'tei' || !self.model.lowerAscii().contains('qwen')",
            "TEI cannot run Qwen rerankers: use engine ragbase",
        ),
        Rule(
            "!has(self.shareWith) || (self.shareWith != self.name && self.engine == 'ragbase' "
            "&& !has(self.external))",
            "only a reranker of engine ragbase can share another one's pod",
        ),
    )
