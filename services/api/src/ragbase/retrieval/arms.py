"""The arms of a search: each turns a query into a ranking of chunks, and may fail alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Protocol

from ragbase.models.domain import ArmName, Collection, Hit, StoredChunk
from ragbase.models.filters import Filter
from ragbase.retrieval.filters import compile_filter
from ragbase.retrieval.lexical.dialect import LexicalDialect
from ragbase.retrieval.query_vector import QueryVector
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.retrieval.trace import Trace
from ragbase.storage.pool import Database
from ragbase.text.analyse import analyser

__all__ = ["Arm", "ArmAbsent", "ArmQuery", "KeywordArm", "SemanticArm"]


@dataclass(frozen=True, slots=True)
class ArmQuery:
    """What every arm is asked. ``text`` is clean; ``depth`` is the same for every page."""

    text: str
    collections: Sequence[Collection]
    filter: Filter | None
    depth: int
    min_score: float
    """Least cosine similarity, for arms that have one."""
    trace: Trace
    vector: QueryVector | None = None
    """None where no arm needs it."""
    graph_asked: bool = False
    """Whether the request itself asked for the graph arm, so that its absence is told."""
    chunks: dict[int, StoredChunk] | None = None
    """Where given, an arm that can read the rows of its hits along with them puts them here."""
    llm_linker: bool = False
    """Whether a language model is asked for the names in the query."""

    @property
    def collection_ids(self) -> list[int]:
        return [collection.id for collection in self.collections]


class ArmAbsent(Exception):  # noqa: N818 - no error: a search goes on as if it had no such arm
    """Raised by an arm that has nothing to search in these collections, so that "nothing found" is
    told from "nothing looked at": it neither answers nor fails."""


class Arm(Protocol):
    """A way to rank chunks for a query."""

    @property
    def name(self) -> ArmName: ...

    async def retrieve(self, query: ArmQuery) -> list[Hit]:
        """At most ``depth`` chunks, best first, each once. Times its stages in ``query.trace``.

        Raises `UnavailableError`, `UpstreamError` or the driver's errors when it cannot, and
        `ArmAbsent` when there is nothing to search.
        """
        ...


class KeywordArm:
    """BM25 over the terms of the collections' languages."""

    name: ArmName = "keyword"

    def __init__(self, database: Database, dialect: LexicalDialect) -> None:
        self._database = database
        self._dialect = dialect

    async def retrieve(self, query: ArmQuery) -> list[Hit]:
        """See `Arm.retrieve`. A query without terms finds nothing.

        Collections of several languages are searched with each language's terms; their scores are
        merged as they are.
        """
        with query.trace.stage("lexical"):
            groups = _by_terms(query.text, query.collections)
            if not groups:
                return []
            condition = compile_filter(query.filter, first=3) if query.filter else None
            async with self._database.acquire() as connection:
                rankings = [
                    await self._dialect.search(
                        connection,
                        terms,
                        ids,
                        filtered=condition,
                        depth=query.depth,
                        chunks=query.chunks,
                    )
                    for terms, ids in groups
                ]
            return rankings[0] if len(rankings) == 1 else _merged(rankings, query.depth)


class SemanticArm:
    """Nearest chunk vectors by cosine similarity to the query's vector.

    ``index`` gives the index of the model in force; it raises `EmbedderUnavailableError` while the
    embedder has not answered yet.
    """

    name: ArmName = "semantic"

    def __init__(self, database: Database, index: Callable[[], SemanticIndex]) -> None:
        self._database = database
        self._index = index

    async def retrieve(self, query: ArmQuery) -> list[Hit]:
        """See `Arm.retrieve`. No connection is held while the query is embedded."""
        if query.vector is None:
            raise ValueError("the semantic arm needs the query's vector")
        index = self._index()
        vector = await query.vector.get()
        with query.trace.stage("semantic"):
            condition = compile_filter(query.filter, first=3) if query.filter else None
            async with self._database.acquire() as connection:
                return await index.search(
                    connection,
                    vector,
                    query.collection_ids,
                    filtered=condition,
                    depth=query.depth,
                    min_score=query.min_score,
                    chunks=query.chunks,
                )


def _by_terms(text: str, collections: Sequence[Collection]) -> list[tuple[list[str], list[int]]]:
    """Terms and collection ids by language, without languages in which there are no terms."""
    languages: dict[str, list[int]] = {}
    for collection in collections:
        languages.setdefault(collection.language, []).append(collection.id)
    groups = [(analyser(language).query_terms(text), ids) for language, ids in languages.items()]
    return [(terms, ids) for terms, ids in groups if terms]


def _merged(rankings: Sequence[list[Hit]], depth: int) -> list[Hit]:
    merged = sorted(chain.from_iterable(rankings), key=lambda hit: (-hit.score, hit.chunk_id))
    return merged[:depth]
