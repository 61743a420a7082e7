"""What a model and the process say of themselves: ``/info`` and ``/v1/models``."""

from __future__ import annotations

import time
from typing import Any

from ragbase_inference import __version__
from ragbase_inference.kinds import ModelFacts
from ragbase_inference.serving.models import ServedModels
from ragbase_inference.serving.served import ServedModel

__all__ = ["model_info", "model_list"]

_STARTED = int(time.time())


async def model_info(served: ServedModel) -> dict[str, Any]:
    """TEI's ``/info`` and more; a model never loaded is loaded, for its files say the most of it.

    Raises `ModelUnavailableError`.
    """
    if served.facts is None:
        with served.in_use():
            await served.running()
    facts, options = served.facts, served.options
    if facts is None:
        raise AssertionError("a loaded model has facts")
    return {
        "model_id": served.spec.model,
        "model_sha": facts.revision,
        "model_dtype": facts.dtype,
        "served_model_name": served.spec.shown_name,
        "model_type": _model_type(facts),
        "max_concurrent_requests": options.max_concurrent_requests,
        "max_input_length": facts.max_tokens,
        "max_batch_tokens": options.max_batch_tokens,
        "max_batch_requests": options.batch_items,
        "max_client_batch_size": options.max_client_batch_size,
        "auto_truncate": options.auto_truncate,
        "tokenization_workers": options.tokenization_workers,
        "version": __version__,
        "sha": None,
        "docker_label": None,
        "name": served.spec.name,
        "backend": facts.backend,
        "device": facts.device,
        "dimension": facts.dimension,
        "state": served.state,
        "memory_bytes": served.memory_bytes(),
    }


def _model_type(facts: ModelFacts) -> dict[str, Any]:
    if facts.kind == "embedding":
        return {"embedding": {"pooling": _tei_pooling(facts.pooling)}}
    if facts.kind == "ner":
        return {"ner": {}}
    labels = {str(number): label for number, label in enumerate(facts.labels)}
    return {
        facts.kind: {
            "id2label": labels,
            "label2id": {label: int(number) for number, label in labels.items()},
        }
    }


def _tei_pooling(pooling: str | None) -> str | None:
    return "last_token" if pooling == "lasttoken" else pooling


def model_list(models: ServedModels) -> dict[str, Any]:
    """All models with their state and memory; loads none."""
    return {"object": "list", "data": [_listed(served) for served in models]}


def _listed(served: ServedModel) -> dict[str, Any]:
    facts = served.facts
    return {
        "id": served.spec.name,
        "object": "model",
        "created": _STARTED,
        "owned_by": "ragbase",
        "model": served.spec.model,
        "revision": served.spec.revision,
        "path": f"/models/{served.spec.name}",
        "state": served.state,
        "memory_bytes": served.memory_bytes(),
        "kind": facts.kind if facts else None,
        "device": facts.device if facts else None,
        "dtype": facts.dtype if facts else None,
        "max_input_length": facts.max_tokens if facts else None,
        "dimension": facts.dimension if facts else None,
    }
