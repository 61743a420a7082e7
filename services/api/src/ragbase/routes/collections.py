"""Collection routes."""

from __future__ import annotations

from fastapi import APIRouter, Response, status

from ragbase.models.collections import CollectionIn, CollectionOut, CollectionSettings
from ragbase.routes.auth import ADMIN, READ
from ragbase.routes.deps import CollectionName, Collections
from ragbase.routes.openapi import CONFLICT, NOT_FOUND, UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1/collections", tags=["collections"])


@router.get("", dependencies=[READ], response_model=list[CollectionOut], responses={**UNAVAILABLE})
async def list_collections(collections: Collections, response: Response) -> list[CollectionOut]:
    """All collections, by name."""
    rows = await collections.all()
    response.headers["X-Total-Count"] = str(len(rows))
    return rows


@router.post(
    "",
    dependencies=[ADMIN],
    status_code=status.HTTP_201_CREATED,
    response_model=CollectionOut,
    responses={**CONFLICT, **UNAVAILABLE},
)
async def create_collection(body: CollectionIn, collections: Collections) -> CollectionOut:
    """Create a collection; 409 if the name is taken."""
    return await collections.create(body.name, body)


@router.put(
    "/{name}",
    dependencies=[ADMIN],
    response_model=CollectionOut,
    responses={201: {"model": CollectionOut}, **CONFLICT, **UNAVAILABLE},
)
async def put_collection(
    name: CollectionName,
    body: CollectionSettings,
    collections: Collections,
    response: Response,
) -> CollectionOut:
    """Create a collection or set all its settings.

    `fusion` acts at once; `chunking` on documents ingested from now on; `language` can change
    only while the collection is empty, because its keyword index depends on it.
    """
    stored, created = await collections.put(name, body)
    if created:
        response.status_code = status.HTTP_201_CREATED
    return stored


@router.get(
    "/{name}",
    dependencies=[READ],
    response_model=CollectionOut,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def get_collection(name: CollectionName, collections: Collections) -> CollectionOut:
    """One collection with its settings and counts."""
    return await collections.describe(name)


@router.delete(
    "/{name}",
    dependencies=[ADMIN],
    status_code=status.HTTP_204_NO_CONTENT,
    responses={**NOT_FOUND, **CONFLICT, **UNAVAILABLE},
)
async def delete_collection(name: CollectionName, collections: Collections) -> None:
    """Remove a collection and all its documents; `default` cannot be removed."""
    await collections.delete(name)
