"""The relations among some entities: which, in what order, how many, and under a filter."""

from __future__ import annotations

from typing import Any

import pytest

from ragbase.graph import subgraph
from ragbase.graph.subgraph import load_edges
from ragbase.models.filters import parse_filter
from ragbase.retrieval.filters import Condition, compile_filter
from ragbase.storage.pool import Connection

from ..graph_rows import add_document, entity_ids

NAMES = ["A", "B", "C", "D"]
PAIRS = [("C", "A"), ("A", "B"), ("B", "C"), ("C", "D")]


async def among(connection: Connection, names: str, **found: Any) -> list[tuple[str, str]]:
    """Names of the ends."""
    ids = await entity_ids(connection)
    called = {one: name.upper() for name, one in ids.items()}
    edges = await load_edges(connection, [ids[name.lower()] for name in names], **found)
    return [(called[edge.source], called[edge.target]) for edge in edges]


async def test_both_ends_must_be_among_them_and_order_is_by_the_ends(
    connection: Connection,
) -> None:
    await add_document(connection, ("t", NAMES, PAIRS))
    ids = await entity_ids(connection)
    ranks = {name.upper(): one for name, one in ids.items()}
    wanted = sorted([("A", "B"), ("B", "C"), ("C", "A")], key=lambda p: (ranks[p[0]], ranks[p[1]]))
    assert await among(connection, "CBA") == wanted
    assert await among(connection, "AD") == []
    assert await among(connection, "A") == []
    assert await among(connection, "") == []


async def test_the_first_so_many_are_given(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_document(connection, ("t", NAMES, PAIRS))
    every = await among(connection, "ABCD")
    assert len(every) == 4
    monkeypatch.setattr(subgraph, "EDGES_MAX", 3)
    assert await among(connection, "ABCD") == every[:3]


async def test_under_a_filter_a_relation_counts_that_a_matching_chunk_tells_of(
    connection: Connection,
) -> None:
    """Those of other documents do not take the places of those that match."""
    await add_document(connection, ("t", NAMES, [("A", "B"), ("C", "D")]))
    told = ("u", NAMES, [("B", "C"), ("C", "D")])
    await add_document(connection, told, metadata={"year": 2020})
    assert await among(connection, "ABCD", filtered=_year(2020)) == [("B", "C"), ("C", "D")]
    assert await among(connection, "ABCD", filtered=_year(1999)) == []


def _year(year: int) -> Condition:
    return compile_filter(parse_filter({"year": year}), first=2)
