"""Model servers: one Deployment and one Service each, of TEI or of the product's own server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ragbase_operator.builders.claims import claim_object, claim_volume
from ragbase_operator.builders.components import MODEL_PORT
from ragbase_operator.builders.environment import plain
from ragbase_operator.builders.images import image_fields
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.names import child
from ragbase_operator.builders.pods import Container, Pod, config_hash, empty_dir, resource_fields
from ragbase_operator.builders.probes import http_probe, probes
from ragbase_operator.builders.references import pod_uses
from ragbase_operator.builders.workloads import RECREATE, REPLACE_IN_PLACE, deployment, service
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.model_servers import Device, Gpu
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.pods import Image, PodOverrides, Resources, Storage

__all__ = ["ModelServer", "model_server"]

STARTUP_SECONDS: Final = 1800
"""The first start fetches the model."""
_CACHE: Final = "/data"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """What the servers of all engines and devices have in common."""

    component: str
    args: Sequence[str]
    default_image: str
    device: Device = "cpu"
    image: Image = field(default_factory=Image)
    replicas: int = 1
    gpu: Gpu = field(default_factory=Gpu)
    resources: Resources = field(default_factory=Resources)
    pod: PodOverrides = field(default_factory=PodOverrides)


def model_server(ragbase: RagBase, server: ModelServer, inputs: Inputs) -> list[Manifest]:
    """Deployment and Service, and the claim of its cache where one of its own is wished."""
    cache = ragbase.spec.model_cache
    own_claim = _own_claim(ragbase, server.component)
    strategy: Mapping[str, Any] | None = None
    if own_claim is not None:
        strategy = RECREATE
    elif server.device != "cpu":
        strategy = REPLACE_IN_PLACE
    found = [
        deployment(ragbase, _pod(ragbase, server, inputs), server.replicas, strategy),
        service(ragbase, server.component, {"http": (80, "http")}),
    ]
    if own_claim is not None and cache.size is not None:
        storage = Storage(size=cache.size, storage_class_name=cache.storage_class_name)
        found.insert(0, claim_object(ragbase, own_claim, server.component, storage))
    return found


def _pod(ragbase: RagBase, server: ModelServer, inputs: Inputs) -> Pod:
    referenced = {use.name: inputs.referenced.get(use.name, "") for use in pod_uses(server.pod)}
    on_gpu = server.device != "cpu"
    return Pod(
        component=server.component,
        container=_container(server),
        volumes=[_cache_volume(ragbase, server.component), empty_dir("tmp")],
        overrides=server.pod,
        config=config_hash(referenced) if referenced else "",
        grace_seconds=60,
        node_selector=server.gpu.node_selector if on_gpu else {},
        tolerations=server.gpu.tolerations if on_gpu else (),
    )


def _container(server: ModelServer) -> Container:
    health = http_probe("/health", "http")
    gpu = {} if server.device == "cpu" else {server.gpu.resource_name: str(server.gpu.count)}
    return Container(
        image=image_fields(server.image, server.default_image),
        args=[*server.args, "--hostname", "0.0.0.0", "--port", str(MODEL_PORT)],  # noqa: S104 - in its pod
        resources=resource_fields(server.resources, gpu),
        ports={"http": MODEL_PORT},
        # Libraries keep what they compile for a device below HOME: it shall outlive the pod, too.
        env=plain({"HOME": _CACHE, "HF_HOME": f"{_CACHE}/huggingface"}),
        mounts={_CACHE: "cache", "/tmp": "tmp"},  # noqa: S108 - a path in the container
        probes=probes(health, health, startup_seconds=STARTUP_SECONDS),
    )


def _cache_volume(ragbase: RagBase, component: str) -> dict[str, Any]:
    claim = ragbase.spec.model_cache.existing_claim or _own_claim(ragbase, component)
    return empty_dir("cache") if claim is None else claim_volume("cache", claim)


def _own_claim(ragbase: RagBase, component: str) -> str | None:
    """A claim each, for a volume of one node cannot be shared by servers on several."""
    if ragbase.spec.model_cache.size is None:
        return None
    return child(ragbase.name, f"{component}-cache")
