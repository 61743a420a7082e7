"""Relation routes (contract §7): what callers say of how their concepts hang together."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response, status

from ragbase.models.concepts import NAME_CHARS_MAX, RelationIn, RelationOut
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.deps import ConceptRelations, RelationId
from ragbase.routes.errors import ErrorBody
from ragbase.routes.openapi import NOT_FOUND, TOO_LARGE, UNAVAILABLE
from ragbase.storage.collections import DEFAULT

__all__ = ["router"]

router = APIRouter(prefix="/v1/relations", tags=["graph"])


@router.post(
    "",
    dependencies=[WRITE],
    status_code=status.HTTP_201_CREATED,
    response_model=RelationOut,
    response_model_exclude_unset=True,
    responses={
        400: {"model": ErrorBody, "description": "Both ends are the same concept."},
        **NOT_FOUND,
        **TOO_LARGE,
        **UNAVAILABLE,
    },
)
async def put_relation(body: RelationIn, relations: ConceptRelations) -> RelationOut:
    """Relate two concepts of a collection. The same source, type and target again is the same
    relation, whose metadata are replaced.
    """
    return await relations.put(body)


@router.get(
    "",
    dependencies=[READ],
    response_model=list[RelationOut],
    response_model_exclude_unset=True,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def list_relations(
    relations: ConceptRelations,
    response: Response,
    concept_name: Annotated[
        str,
        Query(min_length=1, max_length=NAME_CHARS_MAX, description="As stored: case matters."),
    ],
    collection: Annotated[str, Query(max_length=63)] = DEFAULT,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> list[RelationOut]:
    """The relations that start or end at a concept, by id; `X-Total-Count` holds how many.

    `source` and `target` are the relation's own. An unknown name has none.
    """
    rows, total = await relations.of_concept(
        concept_name, offset=offset, limit=limit, collection=collection
    )
    response.headers["X-Total-Count"] = str(total)
    return rows


@router.delete(
    "/{relation_id}",
    dependencies=[WRITE],
    status_code=status.HTTP_204_NO_CONTENT,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def delete_relation(relation_id: RelationId, relations: ConceptRelations) -> None:
    """Remove a relation; its concepts stay."""
    await relations.delete(relation_id)
