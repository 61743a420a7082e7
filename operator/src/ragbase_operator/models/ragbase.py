"""The custom resource `RagBase`: what a user declares, and what the operator tells of it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule, unchanged
from ragbase_operator.models.conditions import Condition, Conditions, Timestamp
from ragbase_operator.models.database import Database
from ragbase_operator.models.graph import Graph, Llm
from ragbase_operator.models.model_servers import Embeddings, Reranker
from ragbase_operator.models.pods import SecretRef
from ragbase_operator.models.texts import Labels, ObjectName, PassThrough, StorageSize, by_key
from ragbase_operator.models.workloads import Api, Localrag, Workers

__all__ = [
    "Backup",
    "Condition",
    "Endpoints",
    "Index",
    "ModelCache",
    "Monitoring",
    "NetworkPolicy",
    "RagBaseSpec",
    "RagBaseStatus",
]


class Monitoring(Part):
    """Objects of the Prometheus operator; made only where its CRDs exist."""

    service_monitor: bool = Field(
        default=False, description="ServiceMonitors and PodMonitors for all parts."
    )
    prometheus_rule: bool = Field(default=False, description="A PrometheusRule with alerts.")
    labels: Labels = Field(
        default_factory=dict, description="Labels by which Prometheus chooses these objects."
    )


class NetworkPolicy(Part):
    """NetworkPolicies that allow the edges that are needed and no other."""

    enabled: bool = Field(default=False, description="Whether there are any.")
    allow_from: list[PassThrough] = Field(
        default_factory=list,
        max_length=32,
        description="Peers that may reach the API and the second API, as in a NetworkPolicy.",
    )


class Backup(Part):
    """Regular backups of everything in Postgres, into a claim."""

    schedule: str | None = Field(
        default=None,
        min_length=5,
        max_length=128,
        pattern="^(@[a-z]+|[^ ]+( +[^ ]+){4})$",
        description="Cron expression of five fields; left out: none.",
    )
    retention: int = Field(default=7, ge=1, le=1000, description="Backups that are kept.")
    claim_name: ObjectName | None = Field(
        default=None, description="Claim that holds the backups. Set once."
    )
    rules = (
        Rule(
            "!has(self.schedule) || has(self.claimName)",
            "a schedule needs `claimName`, the claim that holds the backups",
        ),
        Rule(
            "!has(oldSelf.claimName) || (" + unchanged("claimName") + ")",
            "claimName is set once: for another claim make RagBaseBackups that name it",
        ),
    )


class ModelCache(Part):
    """Volume on which model servers keep what they fetched; else each start fetches again."""

    existing_claim: ObjectName | None = Field(
        default=None, description="A claim that exists, readable by all nodes. Set once."
    )
    size: StorageSize | None = Field(
        default=None, description="Size of a claim that is made. It can only grow."
    )
    storage_class_name: ObjectName | None = Field(
        default=None, description="Of a claim that is made. Left out: the cluster's default class."
    )
    rules = (
        Rule(
            "!(has(self.existingClaim) && has(self.size))",
            "give `existingClaim` or `size`, not both",
        ),
        Rule(
            "!has(self.storageClassName) || has(self.size)",
            "`storageClassName` needs `size`: it is of the claim that is made",
        ),
        Rule(
            "!has(oldSelf.existingClaim) || (" + unchanged("existingClaim") + ")",
            "existingClaim is set once: make a new RagBase, or move the files into this claim",
        ),
        Rule(
            "!has(oldSelf.size) || (has(self.size) && "
            "quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0)",
            "a volume can only grow: keep `size`, or give a larger one",
        ),
        Rule(
            "!has(oldSelf.size) || (" + unchanged("storageClassName") + ")",
            "the storage class of a volume is set once: keep it as it was",
        ),
    )


class RagBaseSpec(Part):
    """A whole retrieval stack."""

    database: Database = Field(default_factory=Database, description="Where everything is stored.")
    embeddings: Embeddings = Field(
        default_factory=Embeddings, description="The server that makes vectors of texts."
    )
    rerankers: list[Reranker] = Field(
        default_factory=list,
        max_length=16,
        description="Servers that order the best rows again; none: searches go without.",
        json_schema_extra=by_key("name"),
    )
    graph: Graph = Field(default_factory=Graph, description="The entity graph.")
    llm: Llm | None = Field(
        default=None, description="A language model for extraction and context."
    )
    api: Api = Field(default_factory=Api, description="The REST API.")
    workers: Workers = Field(default_factory=Workers, description="What does queued jobs.")
    localrag: Localrag = Field(default_factory=Localrag, description="The second API.")
    monitoring: Monitoring = Field(
        default_factory=Monitoring, description="Objects of the Prometheus operator."
    )
    network_policy: NetworkPolicy = Field(
        default_factory=NetworkPolicy, description="Who may talk to whom."
    )
    backup: Backup = Field(default_factory=Backup, description="Regular backups.")
    model_cache: ModelCache = Field(
        default_factory=ModelCache, description="Where model servers keep what they fetched."
    )
    deletion_policy: Literal["Retain", "Delete"] = Field(
        default="Retain",
        description="What becomes of volumes and generated Secrets when the RagBase is deleted.",
    )
    paused: bool = Field(default=False, description="true: nothing is changed until it is false.")
    image_pull_secrets: list[SecretRef] = Field(
        default_factory=list,
        max_length=16,
        description="Secrets with which images are pulled.",
        json_schema_extra=by_key("name"),
    )
    rules = (
        Rule(
            "!has(self.rerankers) || self.rerankers.all(r, !has(r.shareWith) || "
            "self.rerankers.exists(o, o.name == r.shareWith && !has(o.shareWith) "
            "&& o.engine == 'ragbase' && o.device == r.device && !has(o.external)))",
            "shareWith must name a reranker of engine ragbase and the same device that has a pod "
            "of its own",
        ),
        Rule(
            "!has(self.rerankers) || self.rerankers.all(r, !has(r.fallback) || "
            "(r.fallback != r.name && self.rerankers.exists(o, o.name == r.fallback)))",
            "fallback must name another reranker of this list",
        ),
        Rule(
            "!self.graph.enabled || self.graph.extraction != 'llm' || "
            "(has(self.llm) && self.llm.extraction.enabled)",
            "graph.extraction llm needs `llm`, with its extraction enabled",
        ),
    )


class Endpoints(Part):
    """Where the stack is reached inside the cluster."""

    api: str | None = Field(default=None, max_length=1024, description="URL of the API.")
    localrag: str | None = Field(
        default=None, max_length=1024, description="URL of the second API."
    )
    client_secret: str | None = Field(
        default=None, max_length=253, description="Secret with url and apiKey for clients."
    )


class Index(Part):
    """What is stored; counted at most once a minute."""

    documents: int = Field(default=0, ge=0, description="Documents.")
    chunks: int = Field(default=0, ge=0, description="Chunks of documents.")
    entities: int = Field(default=0, ge=0, description="Entities of the graph.")


_Text = Annotated[str, Field(max_length=1024)]


class RagBaseStatus(Part):
    """What the operator saw last."""

    observed_generation: int | None = Field(
        default=None, ge=0, description="Generation of the spec that was seen last."
    )
    conditions: Conditions = Field(
        default_factory=list, description="Ready and the state of each part, with reasons."
    )
    endpoints: Endpoints | None = Field(default=None, description="Where the stack is reached.")
    images: dict[str, _Text] = Field(
        default_factory=dict, max_length=64, description="Image of each workload."
    )
    index: Index | None = Field(default=None, description="What is stored.")
    replicas: int | None = Field(default=None, ge=0, description="Pods of the API.")
    selector: str | None = Field(
        default=None, max_length=1024, description="Label selector of the API's pods."
    )
    embedding: dict[str, _Text] | None = Field(
        default=None,
        max_length=16,
        description="Model and dimension with which the index was made.",
    )
    last_backup: Timestamp | None = Field(
        default=None, description="When the newest good backup was taken."
    )
    last_benchmark: _Text | None = Field(
        default=None, description="Name of the RagBaseBenchmark that finished last."
    )
