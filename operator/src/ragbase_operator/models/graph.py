"""``spec.graph`` and ``spec.llm``: the entity graph and the language model that may feed it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part
from ragbase_operator.models.pods import Image, PodOverrides, Resources, SecretKey, Storage
from ragbase_operator.models.texts import SET, HttpUrl, StorageSize

__all__ = ["Contextual", "Graph", "Llm", "LlmPurpose", "Memgraph", "MemgraphStorage", "Ner"]


class MemgraphStorage(Storage):
    """The volume of Memgraph. Its class is set once; its size only grows."""

    size: StorageSize = Field(default="5Gi", description="Size with its unit. It can only grow.")


class Memgraph(Part):
    """The Memgraph that holds the projection of the graph.

    Its nodes need `vm.max_map_count` of 262144 or more.
    """

    image: Image = Field(default_factory=Image, description="Memgraph MAGE.")
    storage: MemgraphStorage = Field(
        default_factory=MemgraphStorage, description="Volume of the projection."
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "1Gi"}, limits={"memory": "2Gi"}
        ),
        description="Memgraph's own limit is kept under the memory limit.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pod.")


class Ner(Part):
    """Named entity recognition without a language model (GLiNER in the inference server)."""

    model: str = Field(
        default="urchade/gliner_multi-v2.1",
        min_length=1,
        max_length=256,
        description="Id on the Hugging Face hub.",
    )
    labels: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(
        default_factory=lambda: ["person", "organization", "location", "product", "event"],
        min_length=1,
        max_length=64,
        description="Kinds of entities that are looked for.",
        json_schema_extra=SET,
    )
    threshold: float = Field(default=0.5, ge=0, le=1, description="Least probability of an entity.")
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pod.")
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "500m", "memory": "2Gi"}),
        description="Of the server.",
    )


class Graph(Part):
    """The entity graph; searches go without it where it is off."""

    enabled: bool = Field(default=False, description="Whether there is one.")
    memgraph: Memgraph = Field(
        default_factory=Memgraph, description="The database that serves graph searches."
    )
    extraction: Literal["auto", "llm", "ner", "off"] = Field(
        default="auto", description="auto: llm where an LLM is configured, else ner."
    )
    ner: Ner = Field(default_factory=Ner, description="Extraction without a language model.")


class LlmPurpose(Part):
    """What differs for one purpose; what is left out is as in `llm`."""

    enabled: bool = Field(default=True, description="Whether the LLM is used for it.")
    base_url: HttpUrl | None = Field(default=None, description="Another server's URL.")
    model: str | None = Field(
        default=None, min_length=1, max_length=256, description="Another model."
    )
    api_key_secret_ref: SecretKey | None = Field(default=None, description="Another key.")


class Contextual(LlmPurpose):
    """A sentence of context written for each chunk; what is left out is as in `llm`."""

    enabled: bool = Field(default=False, description="Whether the LLM is used for it.")


class Llm(Part):
    """An OpenAI-compatible language model; none is run here."""

    base_url: HttpUrl = Field(description="URL up to and with `/v1`.")
    model: str = Field(min_length=1, max_length=256, description="Model as its server names it.")
    api_key_secret_ref: SecretKey | None = Field(
        default=None, description="Key, where the server wants one."
    )
    contextual: Contextual = Field(
        default_factory=Contextual, description="A sentence of context for each chunk."
    )
    extraction: LlmPurpose = Field(
        default_factory=LlmPurpose, description="Entities and relations for the graph."
    )
