"""Concepts in backups."""

from __future__ import annotations

from typing import Any


async def test_concepts_are_in_it_and_stay_when_documents_go(
    world: Any, database_url: str, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    """R31, R35: with their ids, which are not given out again."""
    await world.add("One", "Text.")
    await rows_of(
        database_url,
        """
        WITH c AS (
            INSERT INTO concepts (collection_id, name, metadata)
            SELECT 1, n, '{"k": 1}' FROM unnest(ARRAY['a', 'b', 'c', 'd']) n RETURNING id
        )
        INSERT INTO concept_relations (source_id, target_id, type)
        SELECT min(id), max(id) - 1, 'KNOWS' FROM c RETURNING id
        """,
    )
    [(highest,)] = await rows_of(database_url, "SELECT max(id) FROM concepts")
    await rows_of(database_url, "DELETE FROM concepts WHERE name IN ('b', 'd') RETURNING id")
    wanted = {
        table: await rows_of(database_url, f"SELECT {table}::text FROM {table} ORDER BY 1")
        for table in ("concepts", "concept_relations")
    }
    assert [len(rows) for rows in wanted.values()] == [2, 1]
    await give((await take()).path, target)
    await rows_of(target, "DELETE FROM documents")
    for table, rows in wanted.items():
        assert await rows_of(target, f"SELECT {table}::text FROM {table} ORDER BY 1") == rows
    [(made,)] = await rows_of(
        target, "INSERT INTO concepts (collection_id, name) VALUES (1, 'e') RETURNING id"
    )
    assert made > highest
