"""Neighbours, paths, communities and counts over HTTP, of concepts and of entities."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from ragbase.graph import communities
from ragbase.storage.pool import Connection

from ..graph_rows import add_document, entity_ids
from .conftest import OpenApp
from .test_concepts import put, relate


async def draw(api: httpx.AsyncClient, *pairs: str) -> dict[str, int]:
    """Concepts by their one-letter names, related as the pairs say; ids."""
    names = sorted(set("".join(pairs)))
    ids = {name: (await put(api, name, type=name.lower()))["id"] for name in names}
    for source, target in pairs:
        await relate(api, source, target)
    return ids


async def near(api: httpx.AsyncClient, node: int, **asked: Any) -> list[dict[str, Any]]:
    answer = await api.get(f"/v1/graph/neighbors/{node}", params=asked)
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()
    return rows


async def between(api: httpx.AsyncClient, start: int, end: int, **asked: Any) -> str | None:
    answer = await api.get(f"/v1/graph/path/{start}/{end}", params=asked)
    if answer.status_code == 404:
        assert answer.json()["detail"] == "No path found"
        return None
    assert answer.status_code == 200, answer.text
    return "".join(node["name"] for node in answer.json())


def told(rows: list[dict[str, Any]]) -> str:
    return " ".join(f"{row['name']}{row['depth']}" for row in rows)


async def test_neighbours_are_what_outgoing_relations_reach(api: httpx.AsyncClient) -> None:
    """R34: each once, at its least depth, without the start; by depth, then name."""
    ids = await draw(api, "AC", "AB", "BC", "BD", "CD", "DE", "EA", "XA")
    assert await near(api, ids["A"], depth=1) == [
        {"id": ids["B"], "name": "B", "type": "b", "depth": 1},
        {"id": ids["C"], "name": "C", "type": "c", "depth": 1},
    ]
    assert told(await near(api, ids["A"])) == "B1 C1 D2", "two steps unless asked otherwise"
    assert told(await near(api, ids["A"], depth=5)) == "B1 C1 D2 E3"
    assert told(await near(api, ids["X"], depth=2)) == "A1 B2 C2"
    assert told(await near(api, ids["A"], depth=5, limit=3)) == "B1 C1 D2"


async def test_several_relations_to_one_concept_make_one_neighbour(api: httpx.AsyncClient) -> None:
    ids = await draw(api, "AB")
    await relate(api, "A", "B", "uses")
    await relate(api, "B", "A", "uses")
    assert told(await near(api, ids["A"], depth=3)) == "B1"


async def test_an_unknown_start_is_404(api: httpx.AsyncClient) -> None:
    """R34."""
    for kind, detail in (("concept", "Concept not found"), ("entity", "Entity not found")):
        answer = await api.get("/v1/graph/neighbors/4711", params={"kind": kind})
        assert (answer.status_code, answer.json()["detail"]) == (404, detail)


@pytest.mark.parametrize("asked", [{"depth": 0}, {"depth": 6}, {"limit": 0}, {"kind": "both"}])
async def test_bounds_are_told(api: httpx.AsyncClient, asked: dict[str, Any]) -> None:
    assert (await api.get("/v1/graph/neighbors/1", params=asked)).status_code == 422


async def test_a_hub_is_cut_as_stated(api: httpx.AsyncClient, connection: Connection) -> None:
    """B089: at most 1,000 rows, those of least depth and id, whatever hangs on them."""
    hub = (await put(api, "Hub"))["id"]
    await connection.execute(
        "WITH c AS (INSERT INTO concepts (collection_id, name) "
        "SELECT 1, to_char(n, 'FM00000') FROM generate_series(1, 3000) n RETURNING id) "
        "INSERT INTO concept_relations (source_id, target_id, type) SELECT $1, id, 'HAS' FROM c",
        hub,
    )
    rows = await near(api, hub, depth=5)
    assert [row["name"] for row in rows] == [f"{n:05}" for n in range(1, 1001)]
    assert {row["depth"] for row in rows} == {1}


async def test_a_path_is_a_shortest_one_whatever_the_directions(api: httpx.AsyncClient) -> None:
    ids = await draw(api, "AB", "CB", "CD", "DE", "AX", "XY", "YZ", "ZE", "PQ")
    assert await between(api, ids["A"], ids["D"]) == "ABCD"
    assert await between(api, ids["E"], ids["A"]) in ("EDCBA", "EZYXA")
    first = await between(api, ids["A"], ids["E"])
    assert [await between(api, ids["A"], ids["E"]) for _ in range(3)] == [first] * 3
    assert await between(api, ids["A"], ids["A"]) == "A"
    assert await between(api, ids["A"], ids["Q"]) is None
    assert await between(api, ids["A"], 4711) is None
    assert await between(api, 4711, 4711) is None
    assert await between(api, ids["A"], ids["D"], max_depth=2) is None
    answer = await api.get(f"/v1/graph/path/{ids['A']}/{ids['B']}")
    assert answer.json() == [
        {"id": ids["A"], "name": "A", "type": "a"},
        {"id": ids["B"], "name": "B", "type": "b"},
    ]


async def test_communities_are_listed_by_number_then_name(api: httpx.AsyncClient) -> None:
    ids = await draw(api, "AB", "BC", "CA", "WX", "WY", "WZ", "XY", "XZ", "YZ", "AW")
    ids["Q"] = (await put(api, "Q"))["id"]
    answer = await api.get("/v1/graph/communities")
    assert answer.status_code == 200, answer.text
    assert answer.json()[0] == {
        "id": ids["Q"], "name": "Q", "type": "Entity", "community_id": -1,
    }  # fmt: skip
    found = [(row["community_id"], row["name"]) for row in answer.json()]
    assert found == [(-1, "Q"), *((0, name) for name in "WXYZ"), *((1, name) for name in "ABC")]


async def test_a_long_answer_is_one_array(api: httpx.AsyncClient, connection: Connection) -> None:
    await connection.execute(
        "INSERT INTO concepts (collection_id, name) SELECT 1, n::text FROM generate_series(1, 4500) n"
    )
    rows = (await api.get("/v1/graph/communities")).json()
    assert [row["name"] for row in rows] == sorted(str(n) for n in range(1, 4501))
    assert (await api.get("/v1/graph/communities", params={"kind": "entity"})).json() == []


async def test_communities_have_a_bound(open_app: OpenApp) -> None:
    _, api = await open_app(communities_max=2)
    await draw(api, "AB", "BC")
    answer = await api.get("/v1/graph/communities")
    assert (answer.status_code, answer.json()["code"]) == (422, "graph_too_large")
    assert "RAGBASE_COMMUNITIES_MAX" in answer.json()["detail"]


async def test_communities_that_take_too_long_are_503_and_there_later(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B089: within RAGBASE_GRAPH_TIMEOUT; what was computed meanwhile is what the next call gets."""
    _, api = await open_app(graph_timeout_s=0.5)
    await draw(api, "AB", "BC")
    computed, go = [], threading.Event()
    compute = communities._computed

    def slow(nodes, edges):
        go.wait(30)
        computed.append(len(edges))
        return compute(nodes, edges)

    monkeypatch.setattr(communities, "_computed", slow)
    try:
        for _ in range(3):
            answer = await api.get("/v1/graph/communities")
            assert (answer.status_code, answer.json()["code"]) == (503, "graph_timeout")
            assert "RAGBASE_GRAPH_TIMEOUT" in answer.json()["detail"]
    finally:
        go.set()
    answer = await api.get("/v1/graph/communities")
    assert answer.status_code == 200, answer.text
    assert [row["name"] for row in answer.json()] == ["A", "B", "C"]
    assert computed == [2]


async def test_entities_are_walked_likewise(api: httpx.AsyncClient, connection: Connection) -> None:
    """R33: two graphs that never meet; the same questions of each."""
    concept = (await draw(api, "AB", "BC"))["A"]
    pairs = [("Ada", "Babbage"), ("Babbage", "Herschel")]
    await add_document(connection, ("t", ["Ada", "Babbage", "Herschel", "Rice"], pairs))
    ids = await entity_ids(connection)
    rows = await near(api, ids["ada"], kind="entity")
    assert told(rows) == "Babbage1 Herschel2"
    assert rows[0] == {"id": ids["babbage"], "name": "Babbage", "type": "thing", "depth": 1}
    path = await between(api, ids["herschel"], ids["ada"], kind="entity")
    assert path == "HerschelBabbageAda"
    rows = (await api.get("/v1/graph/communities", params={"kind": "entity"})).json()
    assert {row["name"]: row["community_id"] for row in rows} == {
        "Ada": 0, "Babbage": 0, "Herschel": 0, "Rice": -1,
    }  # fmt: skip
    assert (await api.get("/v1/graph/stats")).json() == {
        "concepts": 3,
        "relations": 2,
        "entities": 4,
        "entity_relations": 2,
    }
    assert told(await near(api, concept)) == "B1 C2"


async def test_counts_are_of_the_collection_asked_for(api: httpx.AsyncClient) -> None:
    assert (await api.put("/v1/collections/wiki", json={})).status_code == 201
    await draw(api, "AB")
    await put(api, "A", collection="wiki")
    counted = {}
    for name in (None, "default", "wiki"):
        asked = {} if name is None else {"collection": name}
        body = (await api.get("/v1/graph/stats", params=asked)).json()
        counted[name] = (body["concepts"], body["relations"])
    assert counted == {None: (3, 1), "default": (2, 1), "wiki": (1, 0)}
    for path in ("stats", "communities"):
        answer = await api.get(f"/v1/graph/{path}", params={"collection": "none"})
        assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")


async def test_what_is_deleted_is_shown_no_more(
    api: httpx.AsyncClient,
) -> None:
    ids = await draw(api, "AB", "BC", "CD")
    assert len((await api.get("/v1/graph/communities")).json()) == 4
    await api.delete(f"/v1/concepts/{ids['B']}")
    assert told(await near(api, ids["A"], depth=3)) == ""
    assert await between(api, ids["A"], ids["D"]) is None
    rows = (await api.get("/v1/graph/communities")).json()
    assert [(row["name"], row["community_id"]) for row in rows] == [("A", -1), ("C", 0), ("D", 0)]


async def test_an_answer_tells_that_its_store_was_away(open_app: OpenApp) -> None:
    """Nothing listens there: Postgres answers, and a header says so."""
    _, api = await open_app(memgraph_url="bolt://127.0.0.1:1", graph_store="bolt")
    ids = await draw(api, "AB")
    for path, rows in (
        (f"neighbors/{ids['A']}", 1),
        (f"path/{ids['A']}/{ids['B']}", 2),
        ("communities", 2),
    ):
        answer = await api.get(f"/v1/graph/{path}")
        assert answer.status_code == 200, answer.text
        assert len(answer.json()) == rows
        assert answer.headers["x-warning"] in ("graph_store_unavailable", "graph_store_filling")
