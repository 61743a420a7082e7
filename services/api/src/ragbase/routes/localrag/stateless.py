"""`POST /v1/chunk` and `POST /v1/query`: nothing is stored."""

from __future__ import annotations

from fastapi import APIRouter, Response

from ragbase.models.localrag import ChunkIn, QueryIn
from ragbase.models.localrag_out import ChunkAnswer, QueryAnswer
from ragbase.routes.auth import READ
from ragbase.routes.localrag.answers import chunked, queried
from ragbase.routes.localrag.deps import Localrag
from ragbase.routes.localrag.errors import OBJECT_ERRORS

__all__ = ["router"]

router = APIRouter(tags=["stateless"], dependencies=[READ], responses=OBJECT_ERRORS)


@router.post("/v1/chunk", response_model=ChunkAnswer)
async def chunk(body: ChunkIn, localrag: Localrag) -> Response:
    """Split a text and embed its chunks, with contexts on request."""
    text = localrag.passages.checked(body.text, "text")
    localrag.passages.check(text, body)
    chosen = await localrag.models.embedder(body.model)
    return chunked(await localrag.passages.make(text, body, chosen.model))


@router.post("/v1/query", response_model=QueryAnswer)
async def query(body: QueryIn, localrag: Localrag) -> Response:
    """Search in chunks that are sent along, as `/v1/chunk` answered them.

    A reranker scores the best max(4 · topK, 20) of them.
    """
    return queried(await localrag.queries.query(body))
