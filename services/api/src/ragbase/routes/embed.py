"""Pass-through to the embedder (contract §8)."""

from __future__ import annotations

from fastapi import APIRouter

from ragbase.errors import InvalidInputError
from ragbase.models.search import EmbedRequest, EmbedResponse
from ragbase.routes.auth import READ
from ragbase.routes.deps import AllServices
from ragbase.routes.openapi import TOO_LARGE, UNAVAILABLE
from ragbase.text.clean import clean_text

__all__ = ["router"]

router = APIRouter(prefix="/v1", tags=["models"], dependencies=[READ])


@router.post("/embed", response_model=EmbedResponse, responses={**TOO_LARGE, **UNAVAILABLE})
async def embed(body: EmbedRequest, services: AllServices) -> EmbedResponse:
    """Vectors of the texts as they are: no prefix; texts over the model's limit are cut."""
    if len(body.inputs) > services.max_batch:
        raise InvalidInputError(
            f"inputs has {len(body.inputs)} items; at most {services.max_batch} are taken "
            "(RAGBASE_MAX_BATCH).",
            code="batch_too_large",
            field="inputs",
        )
    texts = [clean_text(text, f"inputs.{i}") for i, text in enumerate(body.inputs)]
    info = services.embedding.info
    vectors = await services.embedding.embedder.embed_texts(texts)
    return EmbedResponse(embeddings=vectors.tolist(), model=info.model, dimensions=info.dimension)
