"""Concepts, relations and graphs by both clients, against the real API."""

from __future__ import annotations

import httpx
import pytest

from ragbase.sdk import ApiError, AsyncClient, Client


def test_a_concepts_life(client: Client, collection: str) -> None:
    made = client.concepts.put("BM25", type="Method", metadata={"k1": 1.2}, collection=collection)
    client.concepts.put("Search", collection=collection)
    assert made.collection == collection
    changed = client.concepts.change(made.id, description="Okapi's ranking")
    assert (changed.type, changed.description) == ("Method", "Okapi's ranking")
    relation = client.relations.put("BM25", "Search", "part of", collection=collection)
    assert relation.relation_type == "PART_OF"
    assert client.relations.list("Search", collection=collection) == [relation]
    shown = client.concepts.get(made.id)
    assert [one.target for one in shown.relations] == ["Search"]
    listed = client.concepts.list(collection=collection, text="bm", concept_type="Method")
    assert listed == [changed]
    client.relations.delete(relation.id)
    client.concepts.delete(made.id)
    with pytest.raises(ApiError) as gone:
        client.concepts.get(made.id)
    assert (gone.value.status, gone.value.code) == (404, "concept_not_found")


async def test_both_clients_see_the_same_graph(
    api_url: str, client: Client, collection: str
) -> None:
    async with AsyncClient(api_url) as other:
        ids = {}
        for name in ("a", "b", "c", "alone"):
            ids[name] = (await other.concepts.put(name, collection=collection)).id
        made = await other.relations.put("a", "b", "to", collection=collection)
        await other.relations.put("b", "c", "to", collection=collection, metadata={"n": 1})
        for found in (
            client.graph.neighbours(ids["a"], depth=1),
            await other.graph.neighbours(ids["a"], limit=1),
        ):
            assert [(one.name, one.depth) for one in found] == [("b", 1)]
        path = client.graph.path(ids["c"], ids["a"])
        assert path == await other.graph.path(ids["c"], ids["a"], max_depth=2)
        assert [one.name for one in path] == ["c", "b", "a"]
        with pytest.raises(ApiError) as none:
            await other.graph.path(ids["a"], ids["alone"])
        assert none.value.code == "no_path"
        groups = client.graph.communities(collection=collection)
        assert groups == await other.graph.communities(collection=collection)
        assert [(one.name, one.community_id) for one in groups] == [
            ("alone", -1), ("a", 0), ("b", 0), ("c", 0),
        ]  # fmt: skip
        counted = await other.graph.counts(collection=collection)
        assert counted == client.graph.counts(collection=collection)
        assert (counted.concepts, counted.relations, counted.entities) == (4, 2, 0)
        assert (
            await other.concepts.list(collection=collection, offset=1, limit=2)
            == (client.concepts.list(collection=collection)[1:3])
        )
        assert await other.concepts.get(ids["a"]) == client.concepts.get(ids["a"])
        changed = await other.concepts.change(ids["a"], name="A")
        assert changed.name == "A"
        await other.relations.delete(made.id)
        assert await other.relations.list("A", collection=collection) == []
        await other.concepts.delete(ids["a"])
        assert len(client.concepts.list(collection=collection)) == 3


async def test_both_clients_search_the_graph(api_url: str, client: Client, collection: str) -> None:
    answer = client.search_graph("Ada Lovelace", collection=collection, hops=2)
    assert (answer.query, answer.matched_entities, answer.chunks) == ("Ada Lovelace", [], [])
    async with AsyncClient(api_url) as other:
        again = await other.search_graph("Ada Lovelace", collection=collection)
    assert again.subgraph == answer.subgraph
    with pytest.raises(ApiError, match=r"^hops: "):
        client.search_graph("x", hops=3)


def test_what_is_left_out_is_not_sent() -> None:
    seen: list[httpx.Request] = []

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json=[])

    with Client(transport=httpx.MockTransport(answering)) as client:
        client.concepts.list()
        client.graph.communities(kind="entity")
        client.relations.list("a b", collection="c")
    assert [str(request.url.query, "ascii") for request in seen] == [
        "offset=0&limit=20",
        "kind=entity",
        "concept_name=a+b&collection=c&offset=0&limit=1000",
    ]
