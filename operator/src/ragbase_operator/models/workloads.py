"""``spec.api``, ``spec.workers``, ``spec.localrag``: the product's own pods."""

from __future__ import annotations

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.pods import Image, PodOverrides, Resources, SecretRef, Storage

__all__ = ["Api", "Auth", "Autoscaling", "Ingress", "Localrag", "Workers"]


class Autoscaling(Part):
    """A HorizontalPodAutoscaler for the API; `replicas` is then left to it."""

    enabled: bool = False
    min_replicas: int = Field(default=2, ge=1, le=256)
    max_replicas: int = Field(default=8, ge=1, le=256)
    target_cpu_utilization: int = Field(default=70, ge=1, le=100, description="Percent.")
    rules = (
        Rule("self.minReplicas <= self.maxReplicas", "minReplicas must not exceed maxReplicas"),
    )


class Auth(Part):
    """API keys; generated ones are in the Secrets `<name>-api-key` and `<name>-client`."""

    enabled: bool = True
    existing_secret: SecretRef | None = Field(
        default=None, description="Secret with keys `admin` and `probe` instead of generated ones."
    )


class Ingress(Part):
    """An Ingress for the API."""

    enabled: bool = False
    class_name: str | None = Field(default=None, max_length=253)
    host: str | None = Field(default=None, max_length=253)
    annotations: dict[str, str] = Field(default_factory=dict, max_length=32)
    tls_secret_name: str | None = Field(default=None, max_length=253)
    rules = (Rule("!self.enabled || has(self.host)", "an enabled ingress needs `host`"),)


class Api(Part):
    """The stateless REST API."""

    replicas: int = Field(default=1, ge=0, le=256)
    autoscaling: Autoscaling = Field(default_factory=Autoscaling)
    auth: Auth = Field(default_factory=Auth)
    ingress: Ingress = Field(default_factory=Ingress)
    image: Image = Field(default_factory=Image)
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "512Mi"}, limits={"memory": "1Gi"}
        )
    )
    settings: dict[str, str] = Field(
        default_factory=dict,
        max_length=64,
        description="Settings of API and workers by their environment names, such as "
        "RAGBASE_MAX_INFLIGHT.",
    )
    pod: PodOverrides = Field(default_factory=PodOverrides)


class Workers(Part):
    """Pods that do the jobs."""

    replicas: int = Field(default=1, ge=0, le=256)
    jobs: int = Field(default=2, ge=1, le=256, description="Jobs a pod does at once.")
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "250m", "memory": "512Mi"}, limits={"memory": "2Gi"}
        )
    )
    pod: PodOverrides = Field(default_factory=PodOverrides)


class Localrag(Part):
    """The second API, for local RAG on GGUF models."""

    enabled: bool = False
    replicas: int = Field(default=1, ge=0, le=16)
    storage: Storage = Field(default_factory=lambda: Storage(size="20Gi"))
    resources: Resources = Field(
        default_factory=lambda: Resources(requests={"cpu": "500m", "memory": "1Gi"})
    )
    pod: PodOverrides = Field(default_factory=PodOverrides)
