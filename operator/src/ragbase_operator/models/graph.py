"""``spec.graph`` and ``spec.llm``: the entity graph and the language model that may feed it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.pods import Image, PodOverrides, Resources, SecretKey, Storage

__all__ = ["Graph", "Llm", "LlmPurpose", "Memgraph", "Ner"]


class Memgraph(Part):
    """The Memgraph that holds the projection of the graph."""

    image: Image = Field(default_factory=Image)
    storage: Storage = Field(default_factory=lambda: Storage(size="5Gi"))
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "1Gi"}, limits={"memory": "2Gi"}
        ),
        description="Memgraph's own limit is kept under the memory limit.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides)


class Ner(Part):
    """Named entity recognition without a language model (GLiNER in the inference server)."""

    model: str = Field(default="urchade/gliner_multi-v2.1", max_length=256)
    labels: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(
        default_factory=lambda: ["person", "organization", "location", "product", "event"],
        min_length=1,
        max_length=64,
    )
    threshold: float = Field(default=0.5, ge=0, le=1)
    pod: PodOverrides = Field(default_factory=PodOverrides)
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "500m", "memory": "2Gi"})
    )


class Graph(Part):
    """The entity graph; searches go without it where it is off."""

    enabled: bool = False
    memgraph: Memgraph = Field(default_factory=Memgraph)
    extraction: Literal["auto", "llm", "ner", "off"] = Field(
        default="auto", description="auto: llm where an LLM is configured, else ner."
    )
    ner: Ner = Field(default_factory=Ner)


class LlmPurpose(Part):
    """What differs for one purpose."""

    enabled: bool = True
    base_url: str | None = Field(default=None, pattern="^https?://[^ ]+$", max_length=1024)
    model: str | None = Field(default=None, min_length=1, max_length=256)
    api_key_secret_ref: SecretKey | None = None


class Llm(Part):
    """An OpenAI-compatible language model; none is run here."""

    base_url: str = Field(pattern="^https?://[^ ]+$", max_length=1024)
    model: str = Field(min_length=1, max_length=256)
    api_key_secret_ref: SecretKey | None = None
    contextual: LlmPurpose = Field(default_factory=lambda: LlmPurpose(enabled=False))
    extraction: LlmPurpose = Field(default_factory=LlmPurpose)
    rules = (Rule("self.baseUrl.startsWith('http')", "baseUrl must be an http(s) URL"),)
