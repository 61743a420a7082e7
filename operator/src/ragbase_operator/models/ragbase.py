"""The custom resource `RagBase`: what a user declares, and what the operator tells of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.conditions import Condition, Conditions
from ragbase_operator.models.database import Database
from ragbase_operator.models.graph import Graph, Llm
from ragbase_operator.models.model_servers import Embeddings, Reranker
from ragbase_operator.models.pods import SecretRef
from ragbase_operator.models.workloads import Api, Localrag, Workers

__all__ = ["Backup", "Condition", "Endpoints", "Monitoring", "RagBaseSpec", "RagBaseStatus"]


class Monitoring(Part):
    """Objects of the Prometheus operator; made only where its CRDs exist."""

    service_monitor: bool = False
    prometheus_rule: bool = False
    labels: dict[str, str] = Field(default_factory=dict, max_length=16)


class NetworkPolicy(Part):
    """NetworkPolicies that allow the edges that are needed and no other."""

    enabled: bool = False
    allow_from: list[dict[str, object]] = Field(
        default_factory=list, max_length=32, description="Peers that may reach the API."
    )


class Backup(Part):
    """Regular backups of everything in Postgres, into a claim."""

    schedule: str | None = Field(
        default=None, max_length=128, description="Cron expression; left out: none."
    )
    retention: int = Field(default=7, ge=1, le=1000, description="Backups that are kept.")
    claim_name: str | None = Field(default=None, max_length=253)
    rules = (Rule("!has(self.schedule) || has(self.claimName)", "a schedule needs `claimName`"),)


class ModelCache(Part):
    """Volume on which model servers keep what they fetched."""

    existing_claim: str | None = Field(default=None, max_length=253)
    size: str | None = Field(default=None, max_length=32)
    storage_class_name: str | None = Field(default=None, max_length=253)
    rules = (
        Rule(
            "!(has(self.existingClaim) && has(self.size))",
            "give `existingClaim` or `size`, not both",
        ),
    )


class RagBaseSpec(Part):
    """A whole retrieval stack."""

    database: Database = Field(default_factory=Database)
    embeddings: Embeddings = Field(default_factory=Embeddings)
    rerankers: list[Reranker] = Field(default_factory=list, max_length=16)
    graph: Graph = Field(default_factory=Graph)
    llm: Llm | None = None
    api: Api = Field(default_factory=Api)
    workers: Workers = Field(default_factory=Workers)
    localrag: Localrag = Field(default_factory=Localrag)
    monitoring: Monitoring = Field(default_factory=Monitoring)
    network_policy: NetworkPolicy = Field(default_factory=NetworkPolicy)
    backup: Backup = Field(default_factory=Backup)
    model_cache: ModelCache = Field(default_factory=ModelCache)
    deletion_policy: Literal["Retain", "Delete"] = Field(
        default="Retain", description="What becomes of volumes and generated Secrets."
    )
    paused: bool = Field(default=False, description="true: nothing is changed until it is false.")
    image_pull_secrets: list[SecretRef] = Field(default_factory=list, max_length=16)
    rules = (
        Rule(
            "!has(self.rerankers) || self.rerankers.all(r, !has(r.shareWith) || "
            "self.rerankers.exists(o, o.name == r.shareWith && !has(o.shareWith) "
            "&& o.engine == 'ragbase' && !has(o.external)))",
            "shareWith must name a reranker of engine ragbase that has a pod of its own",
        ),
        Rule(
            "!has(self.rerankers) || self.rerankers.all(r, !has(r.fallback) || "
            "(r.fallback != r.name && self.rerankers.exists(o, o.name == r.fallback)))",
            "fallback must name another reranker of this list",
        ),
        Rule(
            "!self.graph.enabled || self.graph.extraction != 'llm' || has(self.llm)",
            "graph.extraction llm needs `llm`",
        ),
    )


class Endpoints(Part):
    """Where the stack is reached inside the cluster."""

    api: str | None = None
    localrag: str | None = None
    client_secret: str | None = None


class Index(Part):
    """What is stored."""

    documents: int = 0
    chunks: int = 0
    entities: int = 0


class RagBaseStatus(Part):
    """What the operator saw last."""

    observed_generation: int | None = None
    conditions: Conditions = Field(default_factory=list)
    endpoints: Endpoints | None = None
    images: dict[str, str] = Field(default_factory=dict)
    index: Index | None = None
    replicas: int | None = None
    selector: str | None = None
    embedding: dict[str, str] | None = Field(
        default=None, description="Model and dimension with which the index was made."
    )
    last_backup: str | None = None
    last_benchmark: str | None = None
