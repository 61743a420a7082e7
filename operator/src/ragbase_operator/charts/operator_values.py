"""The values of the chart ``ragbase-operator``."""

from __future__ import annotations

from copy import copy
from typing import Annotated, Literal

from pydantic import Field, create_model

from ragbase_operator.charts.values import NAMES, Flag, PullSecret
from ragbase_operator.models.base import Part
from ragbase_operator.models.pods import EnvVar, Resources
from ragbase_operator.models.texts import Annotations, Labels, ObjectName, PassThrough
from ragbase_operator.settings import OperatorSettings

__all__ = ["DERIVED_SETTINGS", "OperatorValues"]

DERIVED_SETTINGS = frozenset({"namespaces", "namespace", "host", "health_port", "metrics_port"})
"""Settings that the chart derives from other values, or fixes."""

_Port = Annotated[int, Field(ge=1, le=65_535)]


class ChartImage(Part):
    """The image of the operator."""

    repository: str = Field(
        default="ghcr.io/ragbase/ragbase-operator",
        min_length=1,
        description="Registry and name, without a tag.",
    )
    tag: str = Field(default="", description="Empty: the version of the chart.")
    digest: str = Field(
        default="", pattern="^(sha256:[0-9a-f]{64})?$", description="Wins over the tag."
    )
    pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        default="IfNotPresent", description="When nodes pull it."
    )


class Crds(Part):
    """CustomResourceDefinitions, which are a part of the release and so are upgraded with it."""

    enabled: bool = Field(
        default=True, description="Install them; off where somebody else does, or a second release."
    )
    keep: bool = Field(
        default=True,
        description="Leave them, and with them all custom resources, when the release is "
        "uninstalled.",
    )


class Watch(Part):
    """What the operator looks after."""

    namespaces: Annotated[list[ObjectName], Field(max_length=100)] = Field(
        default_factory=list,
        description="Namespaces that exist, each with a Role of the operator. Empty: the whole "
        "cluster, with a ClusterRole. The heartbeat's Lease is in the first of them, else in the "
        "release's.",
    )


class Rbac(Part):
    """Rights. They follow from the kinds that the operator makes; there is no wildcard in them."""

    create: bool = Field(default=True, description="Make the roles of the operator and bind them.")
    aggregate: bool = Field(
        default=True,
        description="Let the cluster's roles `view`, `edit` and `admin` have the custom resources.",
    )


class ServiceAccount(Part):
    """Whom the operator is to the API server."""

    create: bool = Field(default=True, description="Make it.")
    name: str = Field(
        default="", **NAMES, description="Empty: the release's; `default` where none is made."
    )
    annotations: Annotations = Field(default_factory=dict, description="Annotations of it.")


class OperatorPod(Part):
    """The operator's pod."""

    labels: Labels = Field(default_factory=dict, description="Further labels.")
    annotations: Annotations = Field(default_factory=dict, description="Annotations.")
    resources: Resources = Field(
        default=Resources.model_validate(
            {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
        ),
        description="Of the container. Fifty RagBases took less than 200 MiB.",
    )
    env: list[EnvVar] = Field(
        default_factory=list, max_length=64, description="Further variables, such as a proxy."
    )
    node_selector: Labels = Field(default_factory=dict, description="Labels of its node.")
    tolerations: list[PassThrough] = Field(default_factory=list, description="Tolerated taints.")
    affinity: PassThrough = Field(default_factory=dict, description="Affinity.")
    priority_class_name: str = Field(default="", description="PriorityClass; empty: none.")


class ServiceMonitor(Flag):
    """A ServiceMonitor of the operator; needs the Prometheus operator's CRDs."""

    interval: str = Field(
        default="30s", pattern="^([0-9]+[smh])+$", description="Between two scrapes."
    )


class PrometheusRules(Flag):
    """Alerts and recording rules, in a PrometheusRule; needs the Prometheus operator's CRDs."""


class Dashboards(Flag):
    """Grafana dashboards, one ConfigMap each, for Grafana's sidecar."""

    labels: Labels = Field(
        default={"grafana_dashboard": "1"}, description="What the sidecar looks for."
    )


class Metrics(Part):
    """The operator's metrics are always served; these are for those who read them."""

    service_monitor: ServiceMonitor = Field(
        default=ServiceMonitor(), description="A ServiceMonitor of the operator."
    )
    prometheus_rule: PrometheusRules = Field(
        default=PrometheusRules(), description="Alerts and recording rules."
    )
    dashboards: Dashboards = Field(default=Dashboards(), description="Grafana dashboards.")


class ApiServer(Part):
    """The API server is no pod that a NetworkPolicy could name."""

    ports: Annotated[list[_Port], Field(min_length=1, max_length=8)] = Field(
        default=[443, 6443], description="Its ports, before and behind the Service `kubernetes`."
    )
    cidrs: Annotated[list[str], Field(max_length=16)] = Field(
        default_factory=list, description="Its addresses. Empty: any."
    )


class NetworkPolicies(Part):
    """NetworkPolicies: what must be open and nothing else."""

    enabled: bool = Field(default=True, description="Make them.")
    api_server: ApiServer = Field(default=ApiServer(), description="Where the API server is.")
    metrics_from: Annotated[list[PassThrough], Field(max_length=16)] = Field(
        default=[
            {
                "namespaceSelector": {},
                "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
            }
        ],
        description="Who may read the metrics; peers as in a NetworkPolicy.",
    )


class Uninstall(Part):
    """A Job before the release is deleted: it removes the custom resources while the operator
    lives, which takes care of data by their deletionPolicy."""

    enabled: bool = Field(
        default=True,
        description="Off: they stay, and cannot be deleted until an operator runs again.",
    )
    timeout_seconds: Annotated[int, Field(ge=10, le=3600)] = Field(
        default=240,
        description="Then the Job fails, and with it `helm uninstall`, whose --timeout (300 s) must "
        "be longer.",
    )


Settings = create_model(  # type: ignore[call-overload]
    "Settings",
    __base__=Part,
    __doc__="Settings of the operator.",
    **{
        name: (field.annotation, copy(field))
        for name, field in OperatorSettings.model_fields.items()
        if name not in DERIVED_SETTINGS
    },
)


class OperatorValues(Part):
    """Values of the chart ragbase-operator."""

    name_override: str = Field(
        default="", **NAMES, description="In place of the chart's name, in names of objects."
    )
    fullname_override: str = Field(
        default="", **NAMES, description="In place of release and chart, in names of objects."
    )
    labels: Labels = Field(default_factory=dict, description="Further labels of all objects.")
    image: ChartImage = Field(default=ChartImage(), description="The image of the operator.")
    image_pull_secrets: list[PullSecret] = Field(
        default_factory=list, description="Secrets of the release's namespace that pull images."
    )
    crds: Crds = Field(default=Crds(), description="CustomResourceDefinitions.")
    watch: Watch = Field(default=Watch(), description="What the operator looks after.")
    settings: Settings = Field(default=Settings(), description="Settings of the operator.")
    rbac: Rbac = Field(default=Rbac(), description="Rights.")
    service_account: ServiceAccount = Field(
        default=ServiceAccount(), description="Whom the operator is to the API server."
    )
    pod: OperatorPod = Field(default=OperatorPod(), description="The operator's pod.")
    metrics: Metrics = Field(default=Metrics(), description="For those who read metrics.")
    network_policy: NetworkPolicies = Field(
        default=NetworkPolicies(), description="NetworkPolicies."
    )
    uninstall: Uninstall = Field(
        default=Uninstall(), description="What happens to custom resources on `helm uninstall`."
    )
