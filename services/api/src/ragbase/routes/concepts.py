"""Concept routes (contract §7): nodes of a graph that callers draw themselves."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response, status

from ragbase.models.concepts import ConceptDetail, ConceptIn, ConceptOut, ConceptPatch
from ragbase.routes.auth import READ, WRITE
from ragbase.routes.deps import ConceptId, Concepts
from ragbase.routes.openapi import CONFLICT, NOT_FOUND, TOO_LARGE, UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1/concepts", tags=["graph"])


@router.post(
    "",
    dependencies=[WRITE],
    status_code=status.HTTP_201_CREATED,
    response_model=ConceptOut,
    response_model_exclude_unset=True,
    responses={**NOT_FOUND, **TOO_LARGE, **UNAVAILABLE},
)
async def put_concept(body: ConceptIn, concepts: Concepts) -> ConceptOut:
    """Store a concept. One of the very same name is replaced, with the defaults for what is left
    out; `PATCH` changes single fields.
    """
    return await concepts.put(body)


@router.get(
    "",
    dependencies=[READ],
    response_model=list[ConceptOut],
    response_model_exclude_unset=True,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def list_concepts(
    concepts: Concepts,
    response: Response,
    text: Annotated[
        str | None,
        Query(min_length=1, max_length=512, description="Part of the name, in any case."),
    ] = None,
    concept_type: Annotated[str | None, Query(alias="type", max_length=256)] = None,
    collection: Annotated[str | None, Query(max_length=63)] = None,
    offset: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> list[ConceptOut]:
    """Concepts by name; `X-Total-Count` holds how many there are.

    `collection` left out: of all readable ones.
    """
    rows, total = await concepts.page(
        offset=offset, limit=limit, collection=collection, kind=concept_type, text=text
    )
    response.headers["X-Total-Count"] = str(total)
    return rows


@router.get(
    "/{concept_id}",
    dependencies=[READ],
    response_model=ConceptDetail,
    response_model_exclude_unset=True,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def get_concept(
    concept_id: ConceptId, concepts: Concepts, response: Response
) -> ConceptDetail:
    """One concept with the relations that start at it; `X-Total-Count` holds how many do."""
    concept, total = await concepts.get(concept_id)
    response.headers["X-Total-Count"] = str(total)
    return concept


@router.patch(
    "/{concept_id}",
    dependencies=[WRITE],
    response_model=ConceptOut,
    response_model_exclude_unset=True,
    responses={**NOT_FOUND, **CONFLICT, **TOO_LARGE, **UNAVAILABLE},
)
async def change_concept(
    concept_id: ConceptId, body: ConceptPatch, concepts: Concepts
) -> ConceptOut:
    """Change what is given; the rest stays. 409 where another concept has the name."""
    return await concepts.change(concept_id, body)


@router.delete(
    "/{concept_id}",
    dependencies=[WRITE],
    status_code=status.HTTP_204_NO_CONTENT,
    responses={**NOT_FOUND, **UNAVAILABLE},
)
async def delete_concept(concept_id: ConceptId, concepts: Concepts) -> None:
    """Remove a concept and all relations that start or end at it."""
    await concepts.delete(concept_id)
