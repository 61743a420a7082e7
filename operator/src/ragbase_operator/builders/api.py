"""The REST API and its workers."""

from __future__ import annotations

from typing import Any

from ragbase_operator.builders import names
from ragbase_operator.builders.components import API, API_PORT, METRICS_PORT, WORKER
from ragbase_operator.builders.images import image_fields
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.labels import selector_of
from ragbase_operator.builders.names import child
from ragbase_operator.builders.objects import child_object
from ragbase_operator.builders.pods import Container, Pod, config_hash, empty_dir, resource_fields
from ragbase_operator.builders.probes import http_probe, probes
from ragbase_operator.builders.references import api_uses, pod_uses
from ragbase_operator.builders.secrets import LOCALRAG_URL, generated
from ragbase_operator.builders.settings import DRAIN_SECONDS, api_env, settings_of
from ragbase_operator.builders.workloads import deployment, service, spread_over_nodes
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.pods import PodOverrides, Resources

__all__ = ["api", "api_config", "api_container", "workers"]

STARTUP_SECONDS = 300
"""The API starts once Postgres and the embedding server answer; then it fails and starts again."""


def api(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Deployment and Service of the API, its autoscaler and disruption budget."""
    spec = ragbase.spec.api
    replicas = None if spec.autoscaling.enabled else spec.replicas
    found = [
        deployment(ragbase, _api_pod(ragbase, inputs), replicas),
        service(ragbase, API, {"http": (API_PORT, "http"), "metrics": (METRICS_PORT, "metrics")}),
    ]
    if spec.autoscaling.enabled:
        found.append(_autoscaler(ragbase))
    if (spec.autoscaling.min_replicas if spec.autoscaling.enabled else spec.replicas) > 1:
        found.append(_disruption_budget(ragbase))
    return found


def workers(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """The Deployment of the workers."""
    spec = ragbase.spec.workers
    alive = http_probe("/health/live", "metrics")
    container = api_container(
        ragbase,
        inputs,
        args=["worker"],
        resources=spec.resources,
        ports={"metrics": METRICS_PORT},
        probes=probes(alive, None, startup_seconds=STARTUP_SECONDS),
    )
    pod = Pod(
        component=WORKER,
        container=container,
        volumes=[empty_dir("tmp")],
        overrides=spec.pod,
        config=api_config(ragbase, inputs, spec.pod),
        spread=spread_over_nodes(ragbase, WORKER),
    )
    return [deployment(ragbase, pod, spec.replicas)]


def api_container(
    ragbase: RagBase,
    inputs: Inputs,
    *,
    args: list[str],
    resources: Resources,
    **more: Any,
) -> Container:
    """A container of the API's image with all settings; ``more``: further fields of it."""
    mounts = {"/tmp": "tmp", **more.pop("mounts", {})}  # noqa: S108 - a path in the container
    return Container(
        image=image_fields(ragbase.spec.api.image, inputs.images.api),
        args=args,
        resources=resource_fields(resources),
        env=more.pop("env", None) or api_env(ragbase),
        env_from=[{"configMapRef": {"name": names.config_map(ragbase.name)}}],
        mounts=mounts,
        **more,
    )


def _api_pod(ragbase: RagBase, inputs: Inputs) -> Pod:
    spec = ragbase.spec.api
    container = api_container(
        ragbase,
        inputs,
        args=["serve"],
        resources=spec.resources,
        ports={"http": API_PORT, "metrics": METRICS_PORT},
        probes=probes(
            http_probe("/health/live", "http"),
            http_probe("/health/ready", "http"),
            startup_seconds=STARTUP_SECONDS,
        ),
    )
    return Pod(
        component=API,
        container=container,
        volumes=[empty_dir("tmp")],
        overrides=spec.pod,
        config=api_config(ragbase, inputs, spec.pod),
        grace_seconds=30 + 2 * DRAIN_SECONDS,
        spread=spread_over_nodes(ragbase, API),
    )


def api_config(ragbase: RagBase, inputs: Inputs, overrides: PodOverrides) -> str:
    """A hash of all that a pod of the API's image reads beside its template."""
    uses = api_uses(ragbase.spec) | pod_uses(overrides)
    referenced = {use.name: inputs.referenced.get(use.name, "") for use in uses}
    return config_hash(settings_of(ragbase), _secrets(ragbase, inputs), referenced)


def _secrets(ragbase: RagBase, inputs: Inputs) -> dict[str, dict[str, str]]:
    """Generated Secrets without what only clients read: a second API restarts no pod of the first."""
    return {
        name: {key: value for key, value in values.items() if key != LOCALRAG_URL}
        for name, values in generated(ragbase, inputs).items()
    }


def _autoscaler(ragbase: RagBase) -> Manifest:
    spec = ragbase.spec.api.autoscaling
    name = child(ragbase.name, API)
    target = {"type": "Utilization", "averageUtilization": spec.target_cpu_utilization}
    content = {
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": spec.min_replicas,
            "maxReplicas": spec.max_replicas,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        }
    }
    kind = ("autoscaling/v2", "HorizontalPodAutoscaler")
    return child_object(ragbase, kind, name, API, content)


def _disruption_budget(ragbase: RagBase) -> Manifest:
    content = {
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": selector_of(ragbase, API)},
        }
    }
    kind = ("policy/v1", "PodDisruptionBudget")
    return child_object(ragbase, kind, child(ragbase.name, API), API, content)
