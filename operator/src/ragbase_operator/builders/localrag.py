"""The second API, for local RAG on GGUF models: the API's image with a volume of models."""

from __future__ import annotations

from typing import Any, Final

from ragbase_operator.builders import names
from ragbase_operator.builders.api import api_config, api_container
from ragbase_operator.builders.claims import claim_object, claim_volume
from ragbase_operator.builders.components import LOCALRAG, LOCALRAG_PORT, METRICS_PORT
from ragbase_operator.builders.environment import escaped, plain
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.pods import Pod, empty_dir
from ragbase_operator.builders.probes import http_probe, probes
from ragbase_operator.builders.quantities import MIB, mib
from ragbase_operator.builders.settings import DRAIN_SECONDS, api_env
from ragbase_operator.builders.workloads import RECREATE, deployment, service, spread_over_nodes
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.ragbase import RagBaseSpec

__all__ = ["localrag"]

MODELS: Final = "/data/models"
"""Below the mount: what else the root of a volume holds, such as lost+found, is no kind of model."""
STARTUP_SECONDS: Final = 300
"""As the API: it starts once Postgres answers; models are loaded by the first request for them."""
PROCESS_MIB: Final = 1024
"""Of the pod's memory limit, for the API itself and what requests carry; the rest is for models."""
LEAST_MODELS_MIB: Final = 64
_DATA: Final = "/data"
DEFAULT: Final = "default"
"""The reranker of searches that name none."""


def localrag(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Claim, Deployment and Service, where the second API is on."""
    spec = ragbase.spec.localrag
    if not spec.enabled:
        return []
    own = names.models_claim(ragbase.name)
    found = [
        deployment(
            ragbase,
            _pod(ragbase, inputs, spec.existing_claim or own),
            spec.replicas,
            RECREATE if spec.existing_claim is None else None,
        ),
        service(ragbase, LOCALRAG, {"http": (LOCALRAG_PORT, "http")}),
    ]
    if spec.existing_claim is None:
        found.insert(0, claim_object(ragbase, own, LOCALRAG, spec.storage))
    return found


def _pod(ragbase: RagBase, inputs: Inputs, claim: str) -> Pod:
    spec = ragbase.spec.localrag
    container = api_container(
        ragbase,
        inputs,
        args=["localrag"],
        resources=spec.resources,
        ports={"http": LOCALRAG_PORT, "metrics": METRICS_PORT},
        env=[*api_env(ragbase), *_settings(ragbase)],
        mounts={_DATA: "data"},
        probes=probes(
            http_probe("/health/live", "http"),
            http_probe("/health/ready", "http"),
            startup_seconds=STARTUP_SECONDS,
        ),
    )
    return Pod(
        component=LOCALRAG,
        container=container,
        volumes=[claim_volume("data", claim), empty_dir("tmp")],
        overrides=spec.pod,
        config=api_config(ragbase, inputs, spec.pod),
        grace_seconds=30 + 2 * DRAIN_SECONDS,
        spread=spread_over_nodes(ragbase, LOCALRAG),
    )


def _settings(ragbase: RagBase) -> list[dict[str, Any]]:
    """What only this API reads. Variables win over the ConfigMap, which all pods share."""
    spec = ragbase.spec
    ours = _ours(spec)
    shared = {name: value for name, value in spec.api.settings.items() if name in ours}
    values = {**ours, **shared, **spec.localrag.settings}
    return plain({name: escaped(value) for name, value in values.items()})


def _ours(spec: RagBaseSpec) -> dict[str, str]:
    """Settings with a value of the operator's, which those of the spec win over.

    The models are those that are served: all vectors are then of one model, whatever files lie in
    the volume when the first one is made.
    """
    found = {
        "LOCALRAG_PORT": str(LOCALRAG_PORT),
        "LOCALRAG_MODELS_DIR": MODELS,
        "LOCALRAG_EMBEDDING_MODEL": spec.embeddings.model,
    }
    if spec.rerankers:
        names = [reranker.name for reranker in spec.rerankers]
        found["LOCALRAG_RERANKER_MODEL"] = DEFAULT if DEFAULT in names else names[0]
    if (limit := spec.localrag.resources.limits.get("memory")) is not None:
        models = max(mib(limit) - PROCESS_MIB, LEAST_MODELS_MIB)
        found["LOCALRAG_MODELS_MEMORY_BYTES"] = str(models * MIB)
    if spec.graph.projected:
        found["MEMGRAPH_ENABLED"] = "false"  # nothing of this API reads the graph
    return found
