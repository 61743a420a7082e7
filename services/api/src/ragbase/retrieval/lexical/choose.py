"""Chooses the dialect that a database is set up for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ragbase.errors import ConfigurationError
from ragbase.retrieval.lexical.dialect import LexicalDialect
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.retrieval.lexical.paradedb import ParadeDialect

if TYPE_CHECKING:
    import asyncpg

__all__ = ["DialectChoice", "open_dialect"]

DialectChoice = Literal["auto", "native", "paradedb"]

_STATE = """
SELECT
    EXISTS (SELECT FROM pg_extension WHERE extname = 'pg_search') AS pg_search,
    to_regclass('chunks_bm25') IS NOT NULL AS bm25,
    to_regclass('postings') IS NOT NULL AS postings
"""


async def open_dialect(connection: asyncpg.Connection, choice: DialectChoice) -> LexicalDialect:
    """The dialect to search with; ``auto`` is paradedb where it is set up, else native.

    Raises `ConfigurationError`, which says what to do, where the choice is not set up.
    """
    state = await connection.fetchrow(_STATE)
    assert state is not None
    if choice == "paradedb" and not state["pg_search"]:
        raise ConfigurationError(
            "RAGBASE_LEXICAL=paradedb, but this database has no extension pg_search. Use a server "
            "that has it (ParadeDB) and run `ragbase migrate` as a superuser, or set "
            "RAGBASE_LEXICAL=native."
        )
    if choice != "native" and state["pg_search"] and state["bm25"]:
        return ParadeDialect()
    if choice != "paradedb" and state["postings"]:
        return NativeDialect()
    raise ConfigurationError(
        f"The keyword index ({choice}) is not set up in this database. Run `ragbase migrate` with "
        f"RAGBASE_LEXICAL={choice}."
    )
