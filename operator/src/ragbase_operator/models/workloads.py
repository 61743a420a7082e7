"""``spec.api``, ``spec.workers``, ``spec.localrag``: the product's own pods."""

from __future__ import annotations

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.pods import (
    Image,
    PodOverrides,
    Resources,
    SecretRef,
    Volume,
    volume_rules,
)
from ragbase_operator.models.texts import Annotations, Host, ObjectName, Parameters, StorageSize

__all__ = [
    "Api",
    "Auth",
    "Autoscaling",
    "Ingress",
    "Localrag",
    "LocalragStorage",
    "Workers",
]


class Autoscaling(Part):
    """A HorizontalPodAutoscaler for the API; `replicas` is then left to it."""

    enabled: bool = Field(default=False, description="Whether there is one.")
    min_replicas: int = Field(default=2, ge=1, le=256, description="Fewest pods.")
    max_replicas: int = Field(default=8, ge=1, le=256, description="Most pods.")
    target_cpu_utilization: int = Field(
        default=70, ge=1, le=100, description="Share of the requested CPU to aim at, in percent."
    )
    rules = (
        Rule("self.minReplicas <= self.maxReplicas", "minReplicas must not exceed maxReplicas"),
    )


class Auth(Part):
    """API keys; generated ones are in the Secrets `<name>-api-key` and `<name>-client`."""

    enabled: bool = Field(default=True, description="false: whoever reaches the API may do all.")
    existing_secret: SecretRef | None = Field(
        default=None, description="Secret with keys `admin` and `probe` instead of generated ones."
    )


class Ingress(Part):
    """An Ingress for the API."""

    enabled: bool = Field(default=False, description="Whether there is one.")
    class_name: ObjectName | None = Field(
        default=None, description="IngressClass; left out: the cluster's default."
    )
    host: Host | None = Field(default=None, description="Host name of the API.")
    annotations: Annotations = Field(
        default_factory=dict, description="Annotations that the ingress controller reads."
    )
    tls_secret_name: ObjectName | None = Field(
        default=None, description="Secret with certificate and key; left out: no TLS."
    )
    rules = (Rule("!self.enabled || has(self.host)", "an enabled ingress needs `host`"),)


class Api(Part):
    """The stateless REST API."""

    replicas: int = Field(
        default=1, ge=0, le=256, description="Pods, where there is no autoscaling."
    )
    autoscaling: Autoscaling = Field(
        default_factory=Autoscaling, description="Pods by the use of CPU."
    )
    auth: Auth = Field(default_factory=Auth, description="API keys.")
    ingress: Ingress = Field(default_factory=Ingress, description="Access from outside.")
    image: Image = Field(
        default_factory=Image, description="Of API, workers, localrag and all Jobs."
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "512Mi"}, limits={"memory": "1Gi"}
        ),
        description="Of one pod.",
    )
    settings: Parameters = Field(
        default_factory=dict,
        description="Settings of API and workers by their environment names, limits among them, "
        "such as RAGBASE_MAX_INFLIGHT.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pods.")


class Workers(Part):
    """Pods that do the queued jobs."""

    replicas: int = Field(default=1, ge=0, le=256, description="Pods.")
    jobs: int = Field(default=2, ge=1, le=256, description="Jobs a pod does at once.")
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "512Mi"}, limits={"memory": "2Gi"}
        ),
        description="Of one pod.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pods.")


class LocalragStorage(Volume):
    """The volume of models. Its class is set once; its size only grows."""

    size: StorageSize = Field(default="20Gi", description="Size with its unit. It can only grow.")


class Localrag(Part):
    """The second API, for local RAG on GGUF models."""

    enabled: bool = Field(default=False, description="Whether there is one.")
    replicas: int = Field(default=1, ge=0, le=16, description="Pods.")
    storage: LocalragStorage = Field(
        default_factory=LocalragStorage, description="Volume of its models, where one is made."
    )
    existing_claim: ObjectName | None = Field(
        default=None,
        description="A claim that exists, readable by all nodes, instead: models are below `models`.",
    )
    settings: Parameters = Field(
        default_factory=dict,
        description="Settings of this API alone by their environment names, such as "
        "LOCALRAG_EMBEDDING_MODEL; they win over those of `api.settings`.",
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "500m", "memory": "1Gi"}),
        description="Of one pod.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides, description="Changes to the pods.")
    rules = (
        Rule(
            "self.replicas <= 1 || has(self.existingClaim)",
            "more than one pod needs `existingClaim`: the volume that is made is for one node",
        ),
        *volume_rules("storage", "oldSelf.enabled && !has(oldSelf.existingClaim)"),
    )
