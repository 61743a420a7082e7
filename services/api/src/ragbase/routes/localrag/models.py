"""Models: list, load, unload."""

from __future__ import annotations

from fastapi import APIRouter

from ragbase.models.localrag import LoadIn, UnloadIn
from ragbase.models.localrag_out import Message, ModelRow
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.localrag.deps import Localrag
from ragbase.routes.localrag.errors import OBJECT_ERRORS, STRING_ERRORS

__all__ = ["router"]

router = APIRouter(tags=["models"])


@router.get("/v1/models", dependencies=[READ], responses=OBJECT_ERRORS)
async def models(localrag: Localrag) -> list[ModelRow]:
    """GGUF files by folder, and the models that this server uses anyway (`loaded`: they answer)."""
    return [
        ModelRow(name=row.name, type=row.type, loaded=row.loaded)
        for row in await localrag.models.listing()
    ]


@router.post("/v1/models/load", dependencies=[WRITE], responses=STRING_ERRORS)
async def load(body: LoadIn, localrag: Localrag) -> Message:
    """Load a model ahead of its first use."""
    await localrag.models.load(body.model, body.type)
    return Message(message="Model loaded successfully")


@router.post("/v1/models/unload", dependencies=[WRITE], responses=STRING_ERRORS)
async def unload(body: UnloadIn, localrag: Localrag) -> Message:
    """Give back a model's memory once calls under way are done."""
    await localrag.models.unload(body.model)
    return Message(message="Model unloaded successfully")
