"""Entity routes: what documents name, and mending it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response, status

from ragbase.models.entities import EntityMerge, EntityOut, EntityPatch
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.deps import Entities, EntityId
from ragbase.routes.openapi import CONFLICT, NOT_FOUND, UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1/entities", tags=["graph"])


@router.get(
    "",
    dependencies=[READ],
    response_model=list[EntityOut],
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def list_entities(
    entities: Entities,
    response: Response,
    query: Annotated[
        str | None, Query(min_length=1, max_length=256, description="Part of the name.")
    ] = None,
    entity_type: Annotated[str | None, Query(alias="type", max_length=64)] = None,
    collection: Annotated[str | None, Query(max_length=63)] = None,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[EntityOut]:
    """Entities by name; `X-Total-Count` holds how many there are.

    Case, accents' form, punctuation and a leading article do not matter to `query`.
    """
    rows, total = await entities.page(
        offset=offset, limit=limit, collection=collection, kind=entity_type, query=query
    )
    response.headers["X-Total-Count"] = str(total)
    return rows


@router.get(
    "/{entity_id}",
    dependencies=[READ],
    response_model=EntityOut,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def get_entity(entity_id: EntityId, entities: Entities) -> EntityOut:
    """One entity."""
    return await entities.get(entity_id)


@router.patch(
    "/{entity_id}",
    dependencies=[WRITE],
    response_model=EntityOut,
    responses={**NOT_FOUND, **CONFLICT, **UNAVAILABLE},
)
async def rename_entity(entity_id: EntityId, body: EntityPatch, entities: Entities) -> EntityOut:
    """Give an entity another name. Documents that come later and use the old one name it still.

    409 where another entity has the name: merge them instead.
    """
    return await entities.rename(entity_id, body)


@router.post(
    "/merge",
    dependencies=[WRITE],
    response_model=EntityOut,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def merge_entities(body: EntityMerge, entities: Entities) -> EntityOut:
    """Make several entities one: mentions, relations and names go to the target.

    Holds for documents that come later. There is no way back but to ingest again.
    """
    return await entities.merge(body)


@router.delete(
    "/{entity_id}",
    dependencies=[WRITE],
    status_code=status.HTTP_204_NO_CONTENT,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def delete_entity(entity_id: EntityId, entities: Entities) -> None:
    """Remove an entity, its mentions and relations; the documents stay.

    It comes back when a document that names it is extracted from again.
    """
    await entities.delete(entity_id)
