"""Texts that models want put before a query or a passage, by model family.

A server says which model it serves, not how the model wants to be asked, so the table holds the
prefixes that the model cards state. Settings win over it; an unknown model gets none.
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Prefixes", "prefixes_for"]


class Prefixes(NamedTuple):
    """What is put before a query and before a passage; empty where the model wants nothing."""

    query: str = ""
    passage: str = ""


_REPRESENT = "Represent this sentence for searching relevant passages: "
_RETRIEVE = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)

# First match wins; matched against the last part of the model id, in lower case.
_FAMILIES: tuple[tuple[str, Prefixes], ...] = (
    # Wang et al.: Text Embeddings by Weakly-Supervised Contrastive Pre-training; cards of intfloat
    (r"e5-.*instruct", Prefixes(_RETRIEVE + " ")),
    (r"e5-(small|base|large)", Prefixes("query: ", "passage: ")),
    # Snowflake changed the prefix with version 2
    (r"arctic-embed-.*v2\.0", Prefixes("query: ")),
    (r"arctic-embed", Prefixes(_REPRESENT)),
    # BAAI: only the English and Chinese models; bge-m3 wants none
    (r"bge-(small|base|large)-en", Prefixes(_REPRESENT)),
    (r"bge-(small|base|large)-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    (r"mxbai-embed-", Prefixes(_REPRESENT)),
    (r"(nomic|modernbert)-embed", Prefixes("search_query: ", "search_document: ")),
    (r"qwen3-embedding", Prefixes(_RETRIEVE)),
    (r"embeddinggemma", Prefixes("task: search result | query: ", "title: none | text: ")),
)


def prefixes_for(model: str, *, query: str | None = None, passage: str | None = None) -> Prefixes:
    """Prefixes of ``model`` (hub id or folder); ``query`` and ``passage`` override the table."""
    name = model.rstrip("/").rsplit("/", 1)[-1].lower()
    known = next(
        (found for pattern, found in _FAMILIES if re.search(rf"\b{pattern}", name)), Prefixes()
    )
    return Prefixes(
        known.query if query is None else query, known.passage if passage is None else passage
    )
