"""The routes that a model answers: one table, from which the app and its OpenAPI document are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from starlette.responses import Response

from ragbase_inference.server import answers
from ragbase_inference.server.call import Call, Handler
from ragbase_inference.server.embed import (
    embed_all,
    embed_pooled,
    embed_sparse,
    openai_embeddings,
    similarity,
)
from ragbase_inference.server.errors import Shape
from ragbase_inference.server.ner import NerRequest, ner
from ragbase_inference.server.predict import predict
from ragbase_inference.server.requests import (
    DecodeRequest,
    EmbedAllRequest,
    EmbedRequest,
    EmbedSparseRequest,
    OpenAIEmbeddingsRequest,
    PredictRequest,
    RerankRequest,
    SimilarityRequest,
    TokenizeRequest,
)
from ragbase_inference.server.rerank import DocumentsRequest, rerank, rerank_documents
from ragbase_inference.server.tokenize import decode, tokenize

__all__ = ["ENDPOINTS", "Endpoint"]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """``POST path``; ``answer`` is a type that pydantic can describe."""

    path: str
    handler: Handler
    summary: str
    request: type[BaseModel] | None
    answer: Any
    shape: Shape = "native"


async def _default_task(call: Call, raw: bytes) -> Response:
    """What the model is for."""
    with call.served.in_use():
        running = await call.served.running()
        handler = _BY_KIND[running.facts.kind]
        return await handler(call, raw)


_BY_KIND: dict[str, Handler] = {
    "embedding": embed_pooled,
    "reranker": rerank,
    "classifier": predict,
    "ner": ner,
}
_VECTORS = list[list[float]]
_PREDICTIONS = list[answers.Prediction] | list[list[answers.Prediction]]
_DEFAULT = _VECTORS | list[answers.Rank] | _PREDICTIONS | answers.NerAnswer

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("/embed", embed_pooled, "A vector for each text", EmbedRequest, _VECTORS),
    Endpoint("/embed_all", embed_all, "A vector for each token", EmbedAllRequest, list[_VECTORS]),
    Endpoint("/embed_sparse", embed_sparse, "Not served: 424", EmbedSparseRequest, list[Any]),
    Endpoint(
        "/similarity",
        similarity,
        "Cosines of a sentence with others",
        SimilarityRequest,
        list[float],
    ),
    Endpoint("/rerank", rerank, "Texts by relevance to a query", RerankRequest, list[answers.Rank]),
    Endpoint("/predict", predict, "Labels of texts or pairs", PredictRequest, _PREDICTIONS),
    Endpoint(
        "/tokenize", tokenize, "The model's tokens", TokenizeRequest, list[list[answers.Token]]
    ),
    Endpoint("/decode", decode, "Text of token ids", DecodeRequest, list[str]),
    *(
        Endpoint(
            path,
            openai_embeddings,
            "OpenAI's embeddings",
            OpenAIEmbeddingsRequest,
            answers.EmbeddingsAnswer,
            "flat",
        )
        for path in ("/v1/embeddings", "/embeddings")
    ),
    *(
        Endpoint(
            path,
            rerank_documents,
            "Documents by relevance, for clients of Jina and Cohere",
            DocumentsRequest,
            answers.RankedDocuments,
            "flat",
        )
        for path in ("/v1/rerank", "/v2/rerank")
    ),
    Endpoint("/v1/ner", ner, "Named entities of texts", NerRequest, answers.NerAnswer, "flat"),
    Endpoint("/", _default_task, "What the model is for", None, _DEFAULT),
    Endpoint("/invocations", _default_task, "What the model is for", None, _DEFAULT),
)
