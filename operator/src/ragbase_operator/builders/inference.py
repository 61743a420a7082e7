"""The product's own model server: ROCm, CUDA and CPU, one or several models in a pod."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase_operator.builders.components import EMBEDDING, NER
from ragbase_operator.builders.inputs import Images
from ragbase_operator.builders.model_servers import ModelServer
from ragbase_operator.builders.rerankers import RerankerGroup
from ragbase_operator.models.graph import Ner
from ragbase_operator.models.model_servers import Device, Embeddings

__all__ = ["embedding_server", "ner_server", "reranker_server"]

CONCURRENT_INPUTS = 512


def embedding_server(embeddings: Embeddings, images: Images) -> ModelServer:
    """One embedding model, at the root."""
    model = ["--model-id", embeddings.model]
    if embeddings.revision is not None:
        model += ["--revision", embeddings.revision]
    return ModelServer(
        component=EMBEDDING,
        args=_args(model, embeddings.dtype, embeddings.max_client_batch_size),
        default_image=_image(embeddings.device, images),
        device=embeddings.device,
        image=embeddings.image,
        replicas=embeddings.replicas,
        gpu=embeddings.gpu,
        resources=embeddings.resources,
        pod=embeddings.pod,
    )


def reranker_server(group: RerankerGroup, images: Images) -> ModelServer:
    """All models of a pod, each at `/models/<name>`; the pod is as its leader says."""
    leader = group.leader
    models: list[str] = []
    for member in group.members:
        revision = f"@{member.revision}" if member.revision else ""
        models += ["--model", f"{member.name}={member.model}{revision}"]
    batch = max(member.max_client_batch_size for member in group.members)
    return ModelServer(
        component=group.component,
        args=_args(models, leader.dtype, batch),
        default_image=_image(leader.device, images),
        device=leader.device,
        image=leader.image,
        replicas=leader.replicas,
        gpu=leader.gpu,
        resources=leader.resources,
        pod=leader.pod,
    )


def ner_server(ner: Ner, images: Images) -> ModelServer:
    """The GLiNER model that recognises entities."""
    return ModelServer(
        component=NER,
        args=_args(["--model-id", ner.model], None, None),
        default_image=_image(ner.device, images),
        device=ner.device,
        image=ner.image,
        gpu=ner.gpu,
        resources=ner.resources,
        pod=ner.pod,
    )


def _args(models: Sequence[str], dtype: str | None, batch: int | None) -> list[str]:
    args = ["serve", *models]
    if dtype is not None:
        args += ["--dtype", dtype]
    if batch is not None:
        args += ["--max-client-batch-size", str(batch)]
        args += ["--max-concurrent-requests", str(max(CONCURRENT_INPUTS, batch))]
    return args


def _image(device: Device, images: Images) -> str:
    return {
        "cpu": images.inference_cpu,
        "rocm": images.inference_rocm,
        "cuda": images.inference_cuda,
    }[device]
