"""Text-embeddings-inference: embedding models and cross-encoders, on CPUs and CUDA."""

from __future__ import annotations

from ragbase_operator.builders.inputs import Images
from ragbase_operator.builders.model_servers import ModelServer
from ragbase_operator.models.model_servers import Device, Embeddings, Reranker

__all__ = ["tei_server"]

CONCURRENT_INPUTS = 512
"""TEI's default; it refuses a request of more inputs than that, so it must be no fewer."""


def tei_server(component: str, model: Embeddings | Reranker, images: Images) -> ModelServer:
    """TEI serving one model."""
    return ModelServer(
        component=component,
        args=_args(model),
        default_image=_image(model.device, images),
        device=model.device,
        image=model.image,
        replicas=model.replicas,
        gpu=model.gpu,
        resources=model.resources,
        pod=model.pod,
    )


def _args(model: Embeddings | Reranker) -> list[str]:
    batch = model.max_client_batch_size
    args = ["--model-id", model.model]
    if model.revision is not None:
        args += ["--revision", model.revision]
    if model.dtype is not None:
        args += ["--dtype", model.dtype]
    args += ["--max-client-batch-size", str(batch)]
    return [*args, "--max-concurrent-requests", str(max(CONCURRENT_INPUTS, batch))]


def _image(device: Device, images: Images) -> str:
    return images.tei_cuda if device == "cuda" else images.tei_cpu
