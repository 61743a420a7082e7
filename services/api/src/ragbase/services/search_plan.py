"""Turns a request into what will be done: cleaned query, known collections, settings in force."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ragbase.errors import InvalidInputError
from ragbase.limits import COLLECTION_NAME
from ragbase.models.domain import Collection
from ragbase.models.filters import MATCH_ALL, Filter, parse_filter
from ragbase.models.fusion import DEFAULT_RRF, RrfFusion, WeightedFusion, read_fusion
from ragbase.models.graph_search import GraphSearchRequest
from ragbase.models.search import Linker, SearchRequest
from ragbase.services.collections import collection_not_found
from ragbase.services.known_collections import KnownCollections
from ragbase.settings import Settings
from ragbase.storage.collections import DEFAULT
from ragbase.text.clean import clean_text

__all__ = [
    "SearchPlan",
    "check_search",
    "checked_query",
    "find_collections",
    "named_collections",
]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A checked search. ``depth`` is the number of rows asked of each arm."""

    request: SearchRequest
    text: str
    collections: Sequence[Collection]
    filter: Filter | None
    fusion: RrfFusion | WeightedFusion
    top_k: int
    depth: int
    min_score: float
    rerank_candidates: int
    linker: Linker = "lexical"

    def asks_for(self, field: str) -> bool:
        """Whether the request itself gave this field a value that asks for something."""
        return field in self.request.model_fields_set and bool(getattr(self.request, field))


def check_search(request: SearchRequest, settings: Settings) -> SearchPlan:
    """The plan, but for its collections. Raises `InvalidInputError`."""
    given = request.model_fields_set
    top_k = request.top_k if "top_k" in given else settings.default_search_top_k
    found = parse_filter(request.filter) if request.filter is not None else MATCH_ALL
    return SearchPlan(
        request=request,
        text=checked_query(request, settings),
        collections=(),
        filter=None if found == MATCH_ALL else found,
        fusion=request.fusion or DEFAULT_RRF,
        top_k=top_k,
        depth=_depth(request, settings, top_k),
        min_score=request.min_score if "min_score" in given else settings.default_min_score,
        rerank_candidates=request.rerank_candidates
        if "rerank_candidates" in given
        else settings.default_rerank_candidates,
        linker=request.linker or settings.graph_linker,
    )


async def find_collections(plan: SearchPlan, known: KnownCollections) -> SearchPlan:
    """The plan with its collections and their fusion; `NotFoundError` if one is not there."""
    collections = await named_collections(plan.request, known)
    fusion = plan.request.fusion or _fusion(collections)
    return replace(plan, collections=collections, fusion=fusion)


def checked_query(request: SearchRequest | GraphSearchRequest, settings: Settings) -> str:
    """The query, cleaned. Raises `InvalidInputError`."""
    if len(request.query) > settings.max_query_chars:
        raise InvalidInputError(
            f"query has {len(request.query)} characters; at most {settings.max_query_chars} are "
            "taken (RAGBASE_MAX_QUERY_CHARS).",
            code="query_too_long",
            field="query",
        )
    return clean_text(request.query, "query")


def _depth(request: SearchRequest, settings: Settings, top_k: int) -> int:
    """The arms' depth; it must not depend on the page, or pages would not continue one another."""
    if "candidates" in request.model_fields_set:
        depth = request.candidates
    else:
        depth = max(settings.default_candidates, top_k)
    if request.offset + top_k > depth:
        raise InvalidInputError(
            f"offset + top_k is {request.offset + top_k}, beyond candidates ({depth}). Ask for "
            "fewer rows, raise candidates (at most 1000), or narrow the search.",
            code="page_too_deep",
            field="offset",
        )
    return depth


async def named_collections(
    request: SearchRequest | GraphSearchRequest, known: KnownCollections
) -> list[Collection]:
    """The collections that the request names, or ``default``; `NotFoundError` if one is not there."""
    names = request.collections or [DEFAULT if request.collection is None else request.collection]
    for name in names:
        if not re.fullmatch(COLLECTION_NAME, name):
            raise collection_not_found(name)
    collections = await known.find(names)
    missing = set(names) - {collection.name for collection in collections}
    if missing:
        raise collection_not_found(min(missing))
    return collections


def _fusion(collections: Sequence[Collection]) -> RrfFusion | WeightedFusion:
    """What the collections are set to; reciprocal rank fusion where they differ."""
    first = collections[0].fusion
    if first is None or any(collection.fusion != first for collection in collections):
        return DEFAULT_RRF
    return read_fusion(first)
