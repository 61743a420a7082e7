"""Keyword search: BM25 over analysed terms, in two dialects behind one protocol."""

from ragbase.retrieval.lexical.choose import DialectChoice, open_dialect
from ragbase.retrieval.lexical.dialect import DialectName, LexicalDialect
from ragbase.retrieval.lexical.query_terms import QUERY_TERMS_MAX

__all__ = ["QUERY_TERMS_MAX", "DialectChoice", "DialectName", "LexicalDialect", "open_dialect"]
