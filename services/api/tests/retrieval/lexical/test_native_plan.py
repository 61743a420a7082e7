"""The native dialect's plan stays index look-ups, whatever the planner knows of the tables."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ragbase.retrieval.filters import Condition
from ragbase.retrieval.lexical.native_statement import native_statement
from ragbase.storage.pool import Connection

FILTERS = {
    "none": None,
    "selective": Condition("c.metadata @> $3::text::jsonb", ['{"k": 1}']),
    "broad": Condition("c.id > $3", [0]),
}


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def explained(connection: Connection, condition: Condition | None) -> list[dict[str, Any]]:
    statement = native_statement(filtered=condition, depth=200)
    plan = await connection.fetchval(
        f"EXPLAIN (FORMAT JSON) {statement}",
        [f"w{n}" for n in range(12)],
        [1],
        *(condition.args if condition else ()),
    )
    return list(nodes(json.loads(plan)[0]["Plan"]))


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("analysed", [True, False])
async def test_postings_are_only_looked_up(
    shelf, connection: Connection, name: str, analysed: bool
) -> None:
    texts = [" ".join(f"w{(n * k) % 97}" for k in range(1, 30)) for n in range(3_000)]
    await shelf.add(texts, metadata=[{"k": n % 100} for n in range(3_000)])
    if analysed:
        await connection.execute("VACUUM ANALYZE")
    plan = await explained(connection, FILTERS[name])
    assert {node["Node Type"] for node in plan}.isdisjoint({"Hash Join", "Merge Join"})
    postings = [node for node in plan if node.get("Relation Name") == "postings"]
    # Before the first vacuum an index-only scan has nothing to win over a bitmap of the same rows.
    lookups = {"Index Only Scan"} if analysed else {"Index Only Scan", "Bitmap Heap Scan"}
    assert len(postings) == 2
    assert {node["Node Type"] for node in postings} <= lookups
    if name != "none":
        filters = [node.get("Filter", "") for node in postings]
        assert sum("hashed SubPlan" in condition for condition in filters) == 1


def test_depth_is_a_literal_and_values_are_parameters() -> None:
    statement = native_statement(filtered=FILTERS["selective"], depth=37)
    assert "LIMIT 37" in statement
    assert "c.metadata @> $3::text::jsonb" in statement
    assert "{" not in statement
