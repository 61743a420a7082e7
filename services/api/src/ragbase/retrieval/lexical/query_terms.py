"""Bounds what one query may ask of the lexical index."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["QUERY_TERMS_MAX", "bounded"]

QUERY_TERMS_MAX = 1024
"""Most distinct terms of a query. A question has five to twenty, a page of 8,192 characters about
700; only the bigrams of a page of Chinese pass it."""


def bounded(terms: Sequence[str]) -> list[str]:
    """``terms`` with their repeats, without any term after the first `QUERY_TERMS_MAX` distinct."""
    kept = set(list(dict.fromkeys(term for term in terms if term))[:QUERY_TERMS_MAX])
    return [term for term in terms if term in kept]
