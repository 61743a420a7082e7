"""Looks names up among the entities of some collections: as they are, by alias, by likeness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ragbase.graph.links import MatchMethod, NamedEntity
from ragbase.storage.pool import Connection

__all__ = ["FUZZY_MIN", "find_alike", "find_named", "has_trigrams"]

FUZZY_MIN: Final = 4
"""Letters of the shortest phrase that is looked up by likeness."""
PER_PHRASE_MAX: Final = 8
"""Entities that one phrase may name, each way."""

_NAMED = """
    SELECT n.key, n.id, n.name, n.type, n.alias
    FROM (
        SELECT e.normal_name AS key, e.id, e.name, e.type, false AS alias
        FROM entities e
        WHERE e.collection_id = ANY($1::bigint[]) AND e.normal_name = ANY($2::text[])
        UNION ALL
        SELECT a.normal_alias, e.id, e.name, e.type, true
        FROM entity_aliases a JOIN entities e ON e.id = a.entity_id
        WHERE a.collection_id = ANY($1::bigint[]) AND a.normal_alias = ANY($2::text[])
            AND e.normal_name <> a.normal_alias
    ) n
    ORDER BY n.key, n.alias, n.id
"""

# Both conditions are answered by the trigram index. `%` holds from the session's threshold on.
_ALIKE = """
    SELECT p.phrase, f.id, f.name, f.type, f.contains, f.closeness
    FROM unnest($2::text[], $3::text[]) AS p (phrase, pattern)
    CROSS JOIN LATERAL (
        SELECT e.id, e.name, e.type,
            ' ' || e.normal_name || ' ' LIKE '% ' || p.phrase || ' %' AS contains,
            similarity(e.normal_name, p.phrase) AS closeness
        FROM entities e
        WHERE e.collection_id = ANY($1::bigint[])
            AND (e.normal_name % p.phrase OR e.normal_name LIKE p.pattern)
            AND (
                e.normal_name % p.phrase
                OR ' ' || e.normal_name || ' ' LIKE '% ' || p.phrase || ' %'
            )
        ORDER BY closeness DESC, e.id
        LIMIT $4
    ) f
    ORDER BY p.phrase, f.closeness DESC, f.id
"""

_HAS_TRIGRAMS = "SELECT to_regproc('similarity') IS NOT NULL"


async def find_named(
    connection: Connection, collection_ids: Sequence[int], names: Sequence[str]
) -> dict[str, list[NamedEntity]]:
    """Entities by each normalised name that is one's own, or else an alias; at most
    `PER_PHRASE_MAX` a name, its own first, then by id."""
    found: dict[str, list[NamedEntity]] = {}
    if not names:
        return found
    for key, entity_id, name, kind, alias in await connection.fetch(_NAMED, collection_ids, names):
        entities = found.setdefault(key, [])
        if len(entities) < PER_PHRASE_MAX:
            entities.append(NamedEntity(entity_id, name, kind, "alias" if alias else "exact_ci"))
    return found


async def find_alike(
    connection: Connection,
    collection_ids: Sequence[int],
    phrases: Sequence[str],
    *,
    limit: int = PER_PHRASE_MAX,
) -> dict[str, list[NamedEntity]]:
    """Entities whose names hold a phrase's words, or are spelt like it: closest first, then by id.

    Phrases are normalised; those under `FUZZY_MIN` letters find nothing. Needs pg_trgm.
    """
    usable = sorted({phrase for phrase in phrases if len(phrase) >= FUZZY_MIN})
    found: dict[str, list[NamedEntity]] = {}
    if not usable:
        return found
    patterns = [f"%{_escaped(phrase)}%" for phrase in usable]
    rows = await connection.fetch(_ALIKE, collection_ids, usable, patterns, limit)
    for phrase, entity_id, name, kind, contains, closeness in rows:
        method: MatchMethod = "fuzzy_contains" if contains else "fuzzy_trigram"
        found.setdefault(phrase, []).append(NamedEntity(entity_id, name, kind, method, closeness))
    return found


async def has_trigrams(connection: Connection) -> bool:
    """Whether the database has the extension that `find_alike` needs."""
    found: bool = await connection.fetchval(_HAS_TRIGRAMS)
    return found


def _escaped(phrase: str) -> str:
    return phrase.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
