"""``spec.embeddings``, ``spec.rerankers``: the model servers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.pods import Image, PodOverrides, Resources, SecretKey
from ragbase_operator.models.texts import HttpUrl, Labels, PassThrough

__all__ = ["CUDA_IS_NOT_AMD", "Device", "Embeddings", "ExternalServer", "Gpu", "Reranker"]

Device = Literal["cpu", "cuda", "rocm"]
Dtype = Literal["float32", "float16", "bfloat16"]
ModelName = Annotated[
    str, Field(min_length=1, max_length=256, pattern="^[A-Za-z0-9/][A-Za-z0-9_./-]*$")
]
"""Id on the Hugging Face hub, or a folder in the image."""
RerankerName = Annotated[
    str, Field(min_length=1, max_length=30, pattern="^[a-z0-9]([a-z0-9-]*[a-z0-9])?$")
]
Revision = Annotated[str, Field(min_length=1, max_length=128, pattern="^[A-Za-z0-9_./-]+$")]

_NO_TEI_ON_ROCM = Rule(
    "self.engine != 'tei' || self.device != 'rocm'",
    "TEI has no ROCm image: use engine ragbase with device rocm",
)
CUDA_IS_NOT_AMD = Rule(
    "self.device != 'cuda' || (self.gpu.resourceName != 'amd.com/gpu' "
    "&& !('feature.node.kubernetes.io/amd-gpu' in self.gpu.nodeSelector))",
    "the defaults of `gpu` are AMD's: for device cuda set gpu.resourceName, such as "
    "nvidia.com/gpu, and gpu.nodeSelector, such as {}",
)
"""A rule of all that may run on a GPU."""


class ExternalServer(Part):
    """A model server that somebody else runs."""

    url: HttpUrl = Field(description="Base URL.")
    api_key_secret_ref: SecretKey | None = Field(
        default=None, description="Bearer token, where the server wants one."
    )


class Gpu(Part):
    """Where a GPU workload may run, as data: nothing here names a vendor but the defaults."""

    resource_name: str = Field(
        default="amd.com/gpu",
        min_length=3,
        max_length=253,
        pattern="^[a-z0-9.-]+/[A-Za-z0-9._-]+$",
        description="Extended resource of the device plugin.",
    )
    count: int = Field(default=1, ge=1, le=16, description="GPUs of one pod.")
    node_selector: Labels = Field(
        default_factory=lambda: {"feature.node.kubernetes.io/amd-gpu": "true"},
        description="Labels that a node must have; {}: none.",
    )
    tolerations: list[PassThrough] = Field(
        default_factory=list, max_length=16, description="Taints of GPU nodes that are tolerated."
    )


class Embeddings(Part):
    """The embedding server; a change of its model needs a new index (see `ReindexRequired`)."""

    engine: Literal["tei", "ragbase", "openai"] = Field(
        default="tei",
        description="tei: text-embeddings-inference; ragbase: ragbase-inference; openai: another "
        "server that speaks OpenAI's protocol, at `external`.",
    )
    model: ModelName = Field(
        default="Snowflake/snowflake-arctic-embed-l-v2.0",
        description="Id on the Hugging Face hub, or a folder in the image.",
    )
    revision: Revision | None = Field(
        default=None, description="Revision on the hub; left out: the newest."
    )
    device: Device = Field(default="cpu", description="What it computes on.")
    image: Image = Field(
        default_factory=Image, description="The server's image; left out: by engine and device."
    )
    replicas: int = Field(default=1, ge=0, le=64, description="Pods.")
    max_client_batch_size: int = Field(
        default=32, ge=1, le=4096, description="Most texts of one call."
    )
    dtype: Dtype | None = Field(
        default=None, description="Numbers to compute in; left out: what suits model and device."
    )
    gpu: Gpu = Field(default_factory=Gpu, description="For device cuda and rocm.")
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "1", "memory": "2Gi"}),
        description="Of one pod, beside its GPUs.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pods.")
    external: ExternalServer | None = Field(
        default=None, description="A server that exists; none is run then."
    )
    rules = (
        _NO_TEI_ON_ROCM,
        CUDA_IS_NOT_AMD,
        Rule(
            "self.engine != 'openai' || has(self.external)",
            "engine openai needs `external.url`",
        ),
    )


class Reranker(Part):
    """A reranker that searches may choose by name."""

    name: RerankerName = Field(
        description="Name in searches; `default` is taken where they give none."
    )
    model: ModelName = Field(
        default="BAAI/bge-reranker-v2-m3",
        description="Id on the Hugging Face hub, or a folder in the image.",
    )
    revision: Revision | None = Field(
        default=None, description="Revision on the hub; left out: the newest."
    )
    engine: Literal["tei", "ragbase"] = Field(
        default="tei", description="tei: text-embeddings-inference; ragbase: ragbase-inference."
    )
    device: Device = Field(default="cpu", description="What it computes on.")
    image: Image = Field(
        default_factory=Image, description="The server's image; left out: by engine and device."
    )
    replicas: int = Field(default=1, ge=0, le=64, description="Pods.")
    timeout_seconds: int = Field(
        default=60, ge=1, le=3600, description="Longest that a search waits for it."
    )
    fallback: RerankerName | None = Field(
        default=None, description="Name of the reranker that stands in when this one fails."
    )
    max_client_batch_size: int = Field(
        default=32, ge=1, le=4096, description="Most texts of one call."
    )
    dtype: Dtype | None = Field(
        default=None, description="Numbers to compute in; left out: what suits model and device."
    )
    gpu: Gpu = Field(default_factory=Gpu, description="For device cuda and rocm.")
    share_with: RerankerName | None = Field(
        default=None,
        description="Name of the reranker in whose pod this model is served: one GPU is one pod. "
        "Image, replicas, gpu, resources and pod are then that one's.",
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "1", "memory": "2Gi"}),
        description="Of one pod, beside its GPUs.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pods.")
    external: ExternalServer | None = Field(
        default=None, description="A server that exists; none is run then."
    )
    rules = (
        _NO_TEI_ON_ROCM,
        Rule(
            "self.engine != 'tei' || !self.model.lowerAscii().contains('qwen')",
            "TEI cannot run Qwen rerankers: use engine ragbase",
        ),
        Rule(
            "has(self.shareWith) || " + CUDA_IS_NOT_AMD.rule,
            CUDA_IS_NOT_AMD.message,
        ),
        Rule(
            "!has(self.shareWith) || (self.shareWith != self.name && self.engine == 'ragbase' "
            "&& !has(self.external))",
            "only a reranker of engine ragbase that is not external can share another one's pod",
        ),
    )
