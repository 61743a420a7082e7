"""POST /v1/search/graph over HTTP: the contract's shape, the mended faults, who may see what."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ragbase.storage.pool import Connection

from ..graph_rows import add_document, chunk_ids, collection
from .conftest import Create, OpenApp

KEYS = {"query", "matched_entities", "subgraph", "chunks", "trace"}
TRACE = {
    "latency_ms",
    "ner_ms",
    "graph_ms",
    "chunk_bridge_ms",
    "n_ner_entities",
    "n_matched_nodes",
    "n_subgraph_nodes",
    "n_subgraph_edges",
}
TABLES = ("entities", "entity_aliases", "mentions", "relations", "relation_mentions", "chunks")


async def search(api: httpx.AsyncClient, query: str, **fields: Any) -> dict[str, Any]:
    answer = await api.post("/v1/search/graph", json={"query": query, **fields})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def names(body: dict[str, Any]) -> list[str]:
    return [node["name"] for node in body["subgraph"]["nodes"]]


@pytest.fixture
async def story(connection: Connection) -> list[int]:
    """Ada knows Babbage, Babbage knows Herschel; a chunk each, one with both pairs; chunk ids."""
    document = await add_document(
        connection,
        ("Ada knew Babbage.", ["Ada Lovelace", "Babbage"], [("Ada Lovelace", "Babbage")]),
        ("Babbage knew Herschel.", ["Babbage", "Herschel"], [("Babbage", "Herschel")]),
        ("Nothing of note.", ["Rice"], []),
        title="Letters",
    )
    return await chunk_ids(connection, document)


async def test_the_answer_has_exactly_the_contracts_fields(
    api: httpx.AsyncClient, story: list[int], connection: Connection
) -> None:
    before = [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES]
    body = await search(api, "Whom did Ada Lovelace know?")
    assert set(body) == KEYS
    assert body["query"] == "Whom did Ada Lovelace know?"
    (matched,) = body["matched_entities"]
    assert matched == {
        "id": "Ada Lovelace",
        "name": "Ada Lovelace",
        "type": "thing",
        "match_score": 1.0,
        "match_method": "exact_ci",
        "source_phrase": "ada lovelace",
    }
    assert body["subgraph"]["nodes"] == [
        {"id": name, "name": name, "type": "thing", "description": None, "degree": degree}
        for name, degree in (("Ada Lovelace", 1), ("Babbage", 2))
    ]
    assert body["subgraph"]["edges"] == [
        {
            "source": "Ada Lovelace",
            "target": "Babbage",
            "relation": "Ada Lovelace knows Babbage.",
            "weight": 1.0,
            "keywords": "knows",
        }
    ]
    assert [chunk["chunk_id"] for chunk in body["chunks"]] == story[:2]
    assert set(body["chunks"][0]) == {
        "chunk_id",
        "doc_id",
        "lightrag_chunk_hash",
        "text",
        "source_entities",
    }
    assert body["chunks"][0]["text"] == "Ada knew Babbage."
    assert body["chunks"][0]["source_entities"] == ["Ada Lovelace", "Babbage"]
    assert set(body["trace"]) == TRACE
    counts = [body["trace"][name] for name in sorted(TRACE) if name.startswith("n_")]
    assert counts == [1, 1, 1, 2]
    parts = ("ner_ms", "graph_ms", "chunk_bridge_ms")
    assert sum(body["trace"][part] for part in parts) <= body["trace"]["latency_ms"] + 50
    after = [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES]
    assert after == before, "it only reads"


async def test_each_hop_reaches_further(api: httpx.AsyncClient, story: list[int]) -> None:
    reached = [names(await search(api, "Ada Lovelace", hops=hops)) for hops in (0, 1, 2)]
    assert reached == [
        ["Ada Lovelace"],
        ["Ada Lovelace", "Babbage"],
        ["Ada Lovelace", "Babbage", "Herschel"],
    ]


async def test_direction_and_real_degree_are_kept(api: httpx.AsyncClient, story: list[int]) -> None:
    """R32, R38: true source and target; a degree that does not depend on the answer's cut."""
    body = await search(api, "Herschel", hops=1)
    (edge,) = body["subgraph"]["edges"]
    assert (edge["source"], edge["target"]) == ("Babbage", "Herschel")
    degrees = {node["name"]: node["degree"] for node in body["subgraph"]["nodes"]}
    assert degrees == {"Herschel": 1, "Babbage": 2}


async def test_chunk_and_document_ids_are_exact(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """R29, R30: the third chunk of a document; a text that two documents share."""
    texts = [(f"part {number}", ["Common Thing"] if number == 2 else [], []) for number in range(4)]
    one = await add_document(connection, *texts, title="one")  # type: ignore[arg-type]
    two = await add_document(connection, *texts, title="two")  # type: ignore[arg-type]
    body = await search(api, "Common Thing")
    wanted = [((await chunk_ids(connection, document))[2], document) for document in (one, two)]
    assert [(chunk["chunk_id"], chunk["doc_id"]) for chunk in body["chunks"]] == wanted
    hashes = {chunk["lightrag_chunk_hash"] for chunk in body["chunks"]}
    assert hashes == {f"chunk-{chunk}" for chunk, _ in wanted}


async def test_a_deleted_document_is_gone_at_once(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """R28: its text, its entities and its edges; what others say stays."""
    pair = [("Ada Lovelace", "Babbage")]
    one = await add_document(connection, ("first", ["Ada Lovelace", "Babbage"], pair))
    two = await add_document(connection, ("second", ["Ada Lovelace"], []))
    assert (await api.delete(f"/v1/documents/{one}")).status_code == 204
    body = await search(api, "Ada Lovelace", hops=2)
    assert (names(body), body["subgraph"]["edges"]) == (["Ada Lovelace"], [])
    assert [chunk["doc_id"] for chunk in body["chunks"]] == [two]


async def test_equal_calls_give_equal_answers(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """R37: seeds, nodes, edges and chunks in a fixed order, ties by id."""
    for number in range(12):
        pair = [("Hub Name", f"Leaf {number}")]
        await add_document(connection, (f"c{number}", ["Hub Name", f"Leaf {number}"], pair))
    answers = [await search(api, "Hub Name and Leaf 3", hops=2) for _ in range(3)]
    for answer in answers:
        del answer["trace"]
    assert answers[0] == answers[1] == answers[2]
    ids = [chunk["chunk_id"] for chunk in answers[0]["chunks"]]
    assert ids == sorted(ids)


async def test_ranking_none_keeps_the_order_found(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    await add_document(
        connection,
        (
            "a",
            ["Seed", "Few", "Many", "Other"],
            [("Seed", "Few"), ("Seed", "Many"), ("Many", "Other")],
        ),
    )
    by_degree = names(await search(api, "Seed", ranking="degree"))
    as_found = names(await search(api, "Seed", ranking="none"))
    assert by_degree[:2] == ["Seed", "Many"]
    assert as_found[0] == "Seed"
    assert sorted(as_found) == sorted(by_degree)


async def test_likeness_is_used_only_where_no_name_fits(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """R55."""
    await add_document(connection, ("x", ["Ada Lovelace", "Ada Lovelace Institute"], []))
    exact = await search(api, "Who is Ada Lovelace?")
    assert [one["match_method"] for one in exact["matched_entities"]] == ["exact_ci"]
    fuzzy = await search(api, "Who is Ada Lovelaze?")
    assert fuzzy["matched_entities"][0]["name"] == "Ada Lovelace"
    assert fuzzy["matched_entities"][0]["match_method"] == "fuzzy_trigram"
    assert (await search(api, "Who is Ada Lovelaze?", fuzzy=False))["matched_entities"] == []


async def test_nothing_found_is_an_empty_answer(api: httpx.AsyncClient, story: list[int]) -> None:
    for query in ("?", "x", "   ", "Who is Nobody Atall?"):
        body = await search(api, query)
        assert (body["matched_entities"], body["chunks"]) == ([], [])
        assert body["subgraph"] == {"nodes": [], "edges": []}


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": ""},
        {"max_entities": 0},
        {"max_entities": 33},
        {"hops": 3},
        {"ranking": "pagerank"},
        {"top_k_chunks": 201},
        {"fuzzy": None},
        {"ner_labels": [""]},
        {"collection": "a", "collections": ["b"]},
    ],
)
async def test_what_is_out_of_bounds_is_refused(
    api: httpx.AsyncClient, wrong: dict[str, Any]
) -> None:
    answer = await api.post("/v1/search/graph", json={"query": "Ada", **wrong})
    assert answer.status_code == 422


async def test_labels_without_a_model_are_told_of(api: httpx.AsyncClient, story: list[int]) -> None:
    body = await search(api, "Ada Lovelace", ner_labels=["person"])
    assert [warning["code"] for warning in body["warnings"]] == ["ner_unavailable"]
    assert names(body) == ["Ada Lovelace", "Babbage"]


async def test_a_filter_holds_for_entities_relations_and_chunks(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    pair = [("Ada Lovelace", "Babbage")]
    await add_document(connection, ("a", ["Ada Lovelace", "Babbage"], pair), metadata={"y": 1})
    two = await add_document(connection, ("b", ["Ada Lovelace"], []), metadata={"y": 2})
    body = await search(api, "Ada Lovelace", filter={"y": 2}, hops=2)
    assert names(body) == ["Ada Lovelace"]
    assert [chunk["doc_id"] for chunk in body["chunks"]] == [two]
    assert (await search(api, "Babbage", filter={"y": 2}))["matched_entities"] == []


async def test_collections_are_kept_apart(api: httpx.AsyncClient, connection: Connection) -> None:
    other = await collection(connection, "other")
    await add_document(
        connection,
        ("x", ["Ada Lovelace", "Secret Friend"], [("Ada Lovelace", "Secret Friend")]),
        collection_id=other.id,
    )
    await add_document(connection, ("y", ["Ada Lovelace"], []))
    assert names(await search(api, "Ada Lovelace", hops=2)) == ["Ada Lovelace"]
    both = await search(api, "Ada Lovelace", hops=2, collections=["default", "other"], explain=True)
    found = sorted((node["collection"], node["name"]) for node in both["subgraph"]["nodes"])
    assert found == [
        ("default", "Ada Lovelace"),
        ("other", "Ada Lovelace"),
        ("other", "Secret Friend"),
    ]
    missing = await api.post("/v1/search/graph", json={"query": "Ada", "collection": "nowhere"})
    assert (missing.status_code, missing.json()["code"]) == (404, "collection_not_found")


async def test_chunks_can_be_ranked_by_the_walk(api: httpx.AsyncClient, story: list[int]) -> None:
    body = await search(api, "Ada Lovelace", hops=0, chunk_ranking="pagerank", explain=True)
    assert [chunk["chunk_id"] for chunk in body["chunks"]] == story[:2]
    scores = [chunk["score"] for chunk in body["chunks"]]
    assert scores == sorted(scores, reverse=True)
    assert body["chunks"][0]["document_title"] == "Letters"


async def test_where_the_graph_is_off_it_is_503_and_other_searches_go_on(
    open_app: OpenApp, create: Create
) -> None:
    """R39, R40: 503 with the reason, only where the graph is off or the database down."""
    await create("Ada", "Ada Lovelace wrote notes.")
    _, client = await open_app(graph_enabled=False)
    answer = await client.post("/v1/search/graph", json={"query": "Ada Lovelace"})
    assert (answer.status_code, answer.json()["code"]) == (503, "graph_off")
    hybrid = await client.post("/v1/search", json={"query": "Ada Lovelace"})
    assert hybrid.json()["total"] == 1
    assert hybrid.json()["warnings"] == []


async def test_hybrid_search_names_the_graph_among_its_sources(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """No word of the second chunk stands in the query; `include_graph: false` leaves it out."""
    await add_document(connection, ("film", ["Hello Love", "Hank Snow"], []))
    away = await add_document(connection, ("singer", ["Hank Snow"], []))
    fields = {"query": "Who is in Hello Love?", "rerank": False, "explain": True}
    body = (await api.post("/v1/search", json=fields)).json()
    assert body["retrievers_used"][-1] == "graph"
    row = next(row for row in body["results"] if row["document_id"] == away)
    assert row["sources"] == ["graph"]
    assert row["explain"]["graph"]["rank"] == 2
    assert body["timings_ms"]["graph"] > 0
    without = (await api.post("/v1/search", json={**fields, "include_graph": False})).json()
    assert "graph" not in without["retrievers_used"]
    assert away not in [row["document_id"] for row in without["results"]]


async def test_an_arm_that_has_no_graph_is_no_arm_that_answers(
    api: httpx.AsyncClient, create: Create
) -> None:
    """Asked alone it gives nothing and says why; it never hides that the others failed."""
    await create("Ada", "Ada Lovelace wrote notes.")
    fusion = {"method": "weighted", "weights": {"graph": 1}}
    answer = await api.post("/v1/search", json={"query": "Ada Lovelace", "fusion": fusion})
    assert answer.status_code == 200
    assert answer.json()["results"] == []
    assert [one["code"] for one in answer.json()["warnings"]] == ["graph_unavailable"]
    assert answer.json()["degraded"] is False
