"""Pass-through to the rerankers (contract §8)."""

from __future__ import annotations

from fastapi import APIRouter

from ragbase.models.rerank import RerankRequest, RerankResponse
from ragbase.routes.auth import READ
from ragbase.routes.deps import Rerank
from ragbase.routes.openapi import TOO_LARGE, UNAVAILABLE

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["models"], dependencies=[READ])


@router.post("/rerank", response_model=RerankResponse, responses={**TOO_LARGE, **UNAVAILABLE})
async def rerank(body: RerankRequest, service: Rerank) -> RerankResponse:
    """Order the texts by how well they answer the query, best first.

    503 `reranker_disabled` where the server has no reranker.
    """
    return await service.rerank(body)
