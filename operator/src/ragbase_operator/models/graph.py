"""``spec.graph`` and ``spec.llm``: the entity graph and the language model that may feed it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.model_servers import CUDA_IS_NOT_AMD, Device, Gpu
from ragbase_operator.models.pods import (
    Image,
    PodOverrides,
    Resources,
    SecretKey,
    Volume,
    volume_rules,
)
from ragbase_operator.models.texts import SET, HttpUrl, StorageSize

__all__ = ["Contextual", "Graph", "Llm", "LlmPurpose", "Memgraph", "MemgraphStorage", "Ner"]


class MemgraphStorage(Volume):
    """The volume of Memgraph. Its class is set once; its size only grows."""

    size: StorageSize = Field(default="5Gi", description="Size with its unit. It can only grow.")


class Memgraph(Part):
    """The Memgraph that holds a projection of the graph, whose canonical rows are in Postgres.

    Its nodes need `vm.max_map_count` of 262144 or more.
    """

    enabled: bool = Field(
        default=True, description="false: none is run, and Postgres answers all of the graph."
    )
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
    """Named entity recognition without a language model."""

    engine: Literal["spacy", "gliner"] = Field(
        default="spacy",
        description="spacy: in the workers themselves, English, nothing is fetched; gliner: a "
        "server of its own with a model of many languages, on an image with torch.",
    )
    model: str = Field(
        default="urchade/gliner_multi-v2.1",
        min_length=1,
        max_length=256,
        description="Of engine gliner: id on the Hugging Face hub.",
    )
    labels: list[Annotated[str, Field(min_length=1, max_length=64)]] = Field(
        default_factory=lambda: ["person", "organization", "location", "product", "event"],
        min_length=1,
        max_length=64,
        description="Of engine gliner: kinds of entities that are looked for.",
        json_schema_extra=SET,
    )
    threshold: float = Field(
        default=0.5, ge=0, le=1, description="Of engine gliner: least probability of an entity."
    )
    device: Device = Field(default="cpu", description="What the server computes on.")
    image: Image = Field(
        default_factory=Image,
        description="The server's image; needed on cpu, where the default one has no torch.",
    )
    gpu: Gpu = Field(default_factory=Gpu, description="For device cuda and rocm.")
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pod.")
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "500m", "memory": "2Gi"}),
        description="Of the server.",
    )
    rules = (
        CUDA_IS_NOT_AMD,
        Rule(
            "self.engine != 'gliner' || self.device != 'cpu' || has(self.image.repository) "
            "|| has(self.image.tag) || has(self.image.digest)",
            "engine gliner needs torch, which the default image for cpu has not: name an `image` "
            "(inference-cpu, built with TORCH_VERSION), or use device rocm or cuda",
        ),
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

    rules = volume_rules("memgraph.storage", "oldSelf.enabled && oldSelf.memgraph.enabled")

    @property
    def projected(self) -> bool:
        """Whether a Memgraph holds a projection of it."""
        return self.enabled and self.memgraph.enabled


class LlmPurpose(Part):
    """What differs for one purpose; what is left out is as in `llm`."""

    enabled: bool = Field(default=True, description="Whether the LLM is used for it.")
    base_url: HttpUrl | None = Field(default=None, description="Another server's URL.")
    model: str | None = Field(
        default=None, min_length=1, max_length=256, description="Another model."
    )
    api_key_secret_ref: SecretKey | None = Field(default=None, description="Another key.")


class Contextual(LlmPurpose):
    """A line of context for each chunk of documents and collections that ask for it
    (`contextual_retrieval`); what is left out is as in `llm`.
    """

    enabled: bool = Field(default=False, description="Whether the LLM is used for it.")


class Llm(Part):
    """An OpenAI-compatible language model; none is run here."""

    base_url: HttpUrl = Field(description="URL up to and with `/v1`.")
    model: str = Field(min_length=1, max_length=256, description="Model as its server names it.")
    api_key_secret_ref: SecretKey | None = Field(
        default=None, description="Key, where the server wants one."
    )
    contextual: Contextual = Field(
        default_factory=Contextual,
        description="Lines of context for chunks, where they are asked for.",
    )
    extraction: LlmPurpose = Field(
        default_factory=LlmPurpose, description="Entities and relations for the graph."
    )
