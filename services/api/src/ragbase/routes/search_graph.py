"""Graph search (contract §6)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ragbase.models.graph_search import GraphSearchRequest, GraphSearchResponse
from ragbase.routes.auth import READ
from ragbase.routes.deps import GraphSearch
from ragbase.routes.openapi import NOT_FOUND, UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1/search", tags=["search"], dependencies=[READ])


@router.post("/graph", response_model=GraphSearchResponse, responses={**NOT_FOUND, **UNAVAILABLE})
async def search_graph(body: GraphSearchRequest, service: GraphSearch) -> Response:
    """Entities that the query names, what is related to them, and the chunks that tell of them.

    No vectors, keywords, fusion or reranker. Nothing found is an answer with empty lists.
    """
    answer = await service.search(body)
    return Response(answer.model_dump_json(exclude_unset=True), media_type="application/json")
