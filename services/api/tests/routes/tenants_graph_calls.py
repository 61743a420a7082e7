"""Calls of every operation on graphs, aimed at the other tenant's entities and concepts."""

from __future__ import annotations

from collections.abc import Iterator

from .tenants_aims import EXTREMES, OWN, Call, Target, aims_at, filters

__all__: list[str] = []


@aims_at("post", "/v1/search/graph")
def graph_search(t: Target) -> Iterator[Call]:
    query = f"{t.text('entity')} and {t.text('other')}"
    for body in (
        {"query": query, "collection": OWN, "hops": 2},
        {"query": query, "collection": OWN, "chunk_ranking": "pagerank", "ranking": "none"},
        {"query": query, "collection": t.collection},
        {"query": query, "collections": [OWN, t.collection]},
        {"query": query, "collection": "default"},
        {"query": query},
        *({"query": query, "collection": OWN, "filter": each} for each in filters(t)),
    ):
        yield Call("POST", "/v1/search/graph", {"json": body})


@aims_at("get", "/v1/entities")
def list_entities(t: Target) -> Iterator[Call]:
    names = (t.collection, "default", OWN)
    for asked in (*EXTREMES, *({"collection": name} for name in names)):
        yield Call("GET", "/v1/entities", {"params": asked})
        yield Call("GET", "/v1/entities", {"params": {**asked, "query": t.word}})
        yield Call("GET", "/v1/entities", {"params": {**asked, "type": t.text("type")}})


@aims_at("get", "/v1/entities/{entity_id}")
@aims_at("patch", "/v1/entities/{entity_id}")
@aims_at("delete", "/v1/entities/{entity_id}")
@aims_at("post", "/v1/entities/merge")
def one_entity(t: Target) -> Iterator[Call]:
    yield Call("GET", f"/v1/entities/{t.entity_id}")
    yield Call("PATCH", f"/v1/entities/{t.entity_id}", {"json": {"name": "taken"}})
    yield Call("DELETE", f"/v1/entities/{t.entity_id}")
    for target, source in ((t.entity_id, 1), (1, t.entity_id), (t.entity_id, t.entity_id + 1)):
        body = {"target_id": target, "source_ids": [source]}
        yield Call("POST", "/v1/entities/merge", {"json": body})


@aims_at("get", "/v1/concepts")
def list_concepts(t: Target) -> Iterator[Call]:
    names = (t.collection, "default", OWN)
    for asked in (*EXTREMES, *({"collection": name} for name in names)):
        for more in ({}, {"text": t.word}, {"type": t.text("type")}):
            yield Call("GET", "/v1/concepts", {"params": {**asked, **more}})


@aims_at("post", "/v1/concepts")
def put_concept(t: Target) -> Iterator[Call]:
    for name in (t.collection, "default", OWN):
        body = {"name": t.text("concept"), "collection": name}
        yield Call("POST", "/v1/concepts", {"json": body})
    yield Call("POST", "/v1/concepts", {"json": {"name": t.text("concept")}})


@aims_at("get", "/v1/concepts/{concept_id}")
@aims_at("patch", "/v1/concepts/{concept_id}")
@aims_at("delete", "/v1/concepts/{concept_id}")
def one_concept(t: Target) -> Iterator[Call]:
    for concept_id in (t.concept_id, t.concept_id + 1):
        yield Call("GET", f"/v1/concepts/{concept_id}")
        for body in ({"name": "taken"}, {"metadata": {}}, {}):
            yield Call("PATCH", f"/v1/concepts/{concept_id}", {"json": body})
        yield Call("DELETE", f"/v1/concepts/{concept_id}")


@aims_at("post", "/v1/relations")
@aims_at("get", "/v1/relations")
@aims_at("delete", "/v1/relations/{relation_id}")
def relations(t: Target) -> Iterator[Call]:
    theirs, other = t.text("concept"), t.text("neighbour")
    for ends in ((theirs, other), (theirs, "own concept"), ("own concept", theirs)):
        for name in (t.collection, OWN, "default"):
            body = {
                "source_name": ends[0],
                "target_name": ends[1],
                "relation_type": t.text("type"),
                "collection": name,
            }
            yield Call("POST", "/v1/relations", {"json": body})
    for name in (t.collection, OWN, "default"):
        for concept in (theirs, other, "own concept"):
            asked = {"concept_name": concept, "collection": name}
            yield Call("GET", "/v1/relations", {"params": asked})
    yield Call("DELETE", f"/v1/relations/{t.relation_id}")


@aims_at("get", "/v1/graph/neighbors/{node_id}")
@aims_at("get", "/v1/graph/path/{start_id}/{end_id}")
@aims_at("get", "/v1/graph/communities")
@aims_at("get", "/v1/graph/stats")
def graph_reads(t: Target) -> Iterator[Call]:
    for kind, node in (("concept", t.concept_id), ("entity", t.entity_id)):
        for depth in (1, 5):
            asked = {"kind": kind, "depth": depth}
            yield Call("GET", f"/v1/graph/neighbors/{node}", {"params": asked})
        for ends in ((node, node), (node, node + 1), (node, 1), (1, node)):
            yield Call("GET", "/v1/graph/path/{}/{}".format(*ends), {"params": {"kind": kind}})
        for name in (t.collection, "default", OWN):
            asked = {"kind": kind, "collection": name}
            yield Call("GET", "/v1/graph/communities", {"params": asked})
            yield Call("GET", "/v1/graph/stats", {"params": {"collection": name}})
    yield Call("GET", "/v1/graph/stats")
