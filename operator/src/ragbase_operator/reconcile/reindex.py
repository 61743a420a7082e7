"""A change of the embedding model: held back, because the stored vectors are of the old one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ragbase_operator.models.model_servers import Embeddings, ExternalServer
from ragbase_operator.models.objects import RagBase

__all__ = ["index_embedding", "keep_index", "needs_reindex"]


def index_embedding(embeddings: Embeddings) -> dict[str, str]:
    """What the index is made with, as it is recorded in `status.embedding`."""
    found = {
        "model": embeddings.model,
        "engine": embeddings.engine,
        "device": embeddings.device,
        "revision": embeddings.revision,
        "url": embeddings.external.url if embeddings.external else None,
    }
    return {name: value for name, value in found.items() if value is not None}


def needs_reindex(ragbase: RagBase, documents: int | None) -> str:
    """Why the spec does not fit the index; "" where it does, or where nothing is stored.

    ``documents``: how many there are; None: not known.
    """
    recorded: Mapping[str, Any] = ragbase.status.get("embedding") or {}
    if not recorded.get("model") or documents == 0:
        return ""
    wished = ragbase.spec.embeddings
    changes = [
        f"embeddings.{name} is {now or 'left out'}, the index was made with {then or 'none'}"
        for name, now, then in (
            ("model", wished.model, recorded["model"]),
            ("revision", wished.revision, recorded.get("revision")),
        )
        if now != then
    ]
    if not changes:
        return ""
    return (
        "; ".join(changes)
        + ": the old model goes on serving. Put it back, or make a new RagBase and ingest again"
    )


def keep_index(ragbase: RagBase) -> RagBase:
    """``ragbase`` with the embedding model that its index was made with."""
    recorded: Mapping[str, Any] = ragbase.status["embedding"]
    wished = ragbase.spec.embeddings
    url = recorded.get("url")
    external = wished.external or (ExternalServer(url=url) if url else None)
    kept = wished.model_copy(
        update={
            "model": recorded["model"],
            "revision": recorded.get("revision"),
            "engine": recorded.get("engine", wished.engine),
            "device": recorded.get("device", wished.device),
            "external": external if url else None,
        }
    )
    changed: dict[str, Any] = {"spec": ragbase.spec.model_copy(update={"embeddings": kept})}
    return replace(ragbase, **changed)
