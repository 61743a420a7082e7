"""Prefixes that model cards ask for where the model's own files do not say them.

A model trained with prefixes retrieves markedly worse without them, and its
``config_sentence_transformers.json`` often holds none. Sources: the models' cards on the hub.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["Prefixes", "family_prefixes"]


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Texts put before a query and before a passage; empty where the model wants none."""

    query: str = ""
    passage: str = ""


_SEARCH_EN = Prefixes(query="Represent this sentence for searching relevant passages: ")
_SEARCH_ZH = Prefixes(query="为这个句子生成表示以用于检索相关文章：")
_E5_INSTRUCT = Prefixes(
    query="Instruct: Given a web search query, retrieve relevant passages that answer the query\n"
    "Query: "
)

_FAMILIES: tuple[tuple[re.Pattern[str], Prefixes], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), prefixes)
    for pattern, prefixes in (
        (r"\be5-.*instruct", _E5_INSTRUCT),
        (r"\be5-(small|base|large)", Prefixes(query="query: ", passage="passage: ")),
        (r"\bbge-(small|base|large)-en", _SEARCH_EN),
        (r"\bbge-(small|base|large)-zh", _SEARCH_ZH),
        (r"\barctic-embed-.*v2\.0", Prefixes(query="query: ")),
        (r"\barctic-embed-", _SEARCH_EN),
        (r"\bmxbai-embed-", _SEARCH_EN),
        (r"\bnomic-embed-text", Prefixes("search_query: ", "search_document: ")),
    )
)


def family_prefixes(name: str) -> Prefixes:
    """Prefixes of the family that ``name`` (model id or folder) belongs to, else none."""
    base = re.split(r"[/\\]", name.rstrip("/\\"))[-1].split("@")[0]
    return next((found for pattern, found in _FAMILIES if pattern.search(base)), Prefixes())
