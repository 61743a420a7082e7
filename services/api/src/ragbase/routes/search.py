"""Search routes (contract §5)."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ragbase.models.search import SearchRequest, SearchResponse
from ragbase.routes.auth import READ
from ragbase.routes.deps import Search
from ragbase.routes.openapi import NOT_FOUND, UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1/search", tags=["search"], dependencies=[READ])

_ANSWERS = {**NOT_FOUND, **UNAVAILABLE}


@router.post("", response_model=SearchResponse, responses=_ANSWERS)
async def search(body: SearchRequest, service: Search) -> Response:
    """Hybrid search: the arms run at the same time, fail alone, and are fused.

    `warnings` says what the answer went without; `degraded` that something configured failed.
    """
    return _json(await service.search(body))


@router.post("/semantic", response_model=SearchResponse, responses=_ANSWERS)
async def search_semantic(body: SearchRequest, service: Search) -> Response:
    """Nearest chunks by cosine similarity; rows under `min_score` are dropped."""
    return _json(await service.semantic(body))


@router.post("/keyword", response_model=SearchResponse, responses=_ANSWERS)
async def search_keyword(body: SearchRequest, service: Search) -> Response:
    """Best chunks by BM25; works without an embedder."""
    return _json(await service.keyword(body))


def _json(answer: SearchResponse) -> Response:
    # Built from our own rows, so it is written as it is: validating it again would cost more
    # than fusing.
    return Response(answer.model_dump_json(), media_type="application/json")
