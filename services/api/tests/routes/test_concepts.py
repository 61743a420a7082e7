"""Concepts over HTTP: the contract's shape and rules, our PATCH and list, limits."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from ragbase.storage.concepts import RELATIONS_MAX
from ragbase.storage.pool import Connection

from .conftest import OpenApp

KEYS = {"id", "name", "type", "description", "metadata"}


async def put(api: httpx.AsyncClient, name: str, **fields: Any) -> dict[str, Any]:
    answer = await api.post("/v1/concepts", json={"name": name, **fields})
    assert answer.status_code == 201, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def relate(
    api: httpx.AsyncClient, source: str, target: str, kind: str = "knows", **fields: Any
) -> dict[str, Any]:
    body = {"source_name": source, "target_name": target, "relation_type": kind, **fields}
    answer = await api.post("/v1/relations", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_concept_has_the_contracts_fields_and_defaults(api: httpx.AsyncClient) -> None:
    made = await put(api, "Fusion")
    assert set(made) == KEYS
    assert made == {
        "id": made["id"],
        "name": "Fusion",
        "type": "Entity",
        "description": "",
        "metadata": {},
    }
    read = await api.get(f"/v1/concepts/{made['id']}")
    assert read.json() == {**made, "relations": []}


async def test_the_same_name_again_replaces_all_but_the_id(api: httpx.AsyncClient) -> None:
    """Always 201; what is left out goes back to its default."""
    first = await put(api, "RRF", type="Method", description="Adds.", metadata={"k": 60})
    again = await put(api, "RRF", description="Adds ranks.")
    assert again == {**first, "type": "Entity", "description": "Adds ranks.", "metadata": {}}
    other = await put(api, "rrf")
    assert other["id"] != first["id"], "names are told apart by case"
    assert (await put(api, "RRF "))["id"] != first["id"], "and by blanks"
    decomposed, composed = await put(api, "Cafe\u0301"), await put(api, "Caf\u00e9")
    assert decomposed["id"] == composed["id"], "but not by Unicode form"


async def test_a_patch_keeps_what_is_left_out(api: httpx.AsyncClient) -> None:
    made = await put(api, "BM25", type="Method", description="d", metadata={"k1": 1.2})
    path = f"/v1/concepts/{made['id']}"
    assert (await api.patch(path, json={})).json() == made
    changed = await api.patch(path, json={"description": "Okapi", "metadata": {}})
    assert changed.json() == {**made, "description": "Okapi", "metadata": {}}
    renamed = await api.patch(path, json={"name": "Okapi BM25", "type": ""})
    assert (renamed.json()["name"], renamed.json()["type"]) == ("Okapi BM25", "")
    await put(api, "TF-IDF")
    taken = await api.patch(path, json={"name": "TF-IDF"})
    assert (taken.status_code, taken.json()["code"]) == (409, "concept_exists")
    assert (await api.patch(path, json={"name": None})).status_code == 422
    assert (await api.patch("/v1/concepts/4711", json={})).status_code == 404


async def test_outgoing_relations_are_shown_with_a_concept(api: httpx.AsyncClient) -> None:
    ids = {name: (await put(api, name))["id"] for name in "ABC"}
    for source, target, kind in (("A", "C", "uses"), ("A", "B", "uses"), ("C", "A", "is"), ("A", "C", "is")):  # fmt: skip
        await relate(api, source, target, kind)
    answer = await api.get(f"/v1/concepts/{ids['A']}")
    assert answer.json()["relations"] == [
        {"relation_type": "IS", "target": "C", "target_id": ids["C"]},
        {"relation_type": "USES", "target": "B", "target_id": ids["B"]},
        {"relation_type": "USES", "target": "C", "target_id": ids["C"]},
    ]
    assert answer.headers["x-total-count"] == "3"


async def test_a_hub_shows_its_first_relations_and_how_many_there_are(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    hub = (await put(api, "Hub"))["id"]
    await connection.execute(
        "WITH c AS (INSERT INTO concepts (collection_id, name) "
        "SELECT 1, to_char(n, 'FM0000') FROM generate_series(1, 1200) n RETURNING id) "
        "INSERT INTO concept_relations (source_id, target_id, type) SELECT $1, id, 'HAS' FROM c",
        hub,
    )
    answer = await api.get(f"/v1/concepts/{hub}")
    names = [row["target"] for row in answer.json()["relations"]]
    assert names == [f"{n:04}" for n in range(1, RELATIONS_MAX + 1)]
    assert answer.headers["x-total-count"] == "1200"


async def test_deleting_a_concept_takes_its_relations(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    ids = {name: (await put(api, name))["id"] for name in "ABC"}
    await relate(api, "A", "B")
    await relate(api, "B", "C")
    await relate(api, "A", "C")
    assert (await api.delete(f"/v1/concepts/{ids['B']}")).status_code == 204
    kept = await connection.fetch("SELECT source_id, target_id FROM concept_relations")
    assert [tuple(row) for row in kept] == [(ids["A"], ids["C"])]
    for method in ("GET", "DELETE"):
        gone = await api.request(method, f"/v1/concepts/{ids['B']}")
        assert (gone.status_code, gone.json()["detail"]) == (404, "Concept not found")


async def test_ids_are_not_used_again(api: httpx.AsyncClient) -> None:
    """R35: ours, and stable."""
    first = await put(api, "Once")
    await api.delete(f"/v1/concepts/{first['id']}")
    assert (await put(api, "Once"))["id"] > first["id"]


async def test_concepts_are_listed_by_name_with_their_number(api: httpx.AsyncClient) -> None:
    for name, kind in (("b", "Tool"), ("Äpfel", "Fruit"), ("a_1", "Tool"), ("A", "Tool")):
        await put(api, name, type=kind)

    async def names(**asked: Any) -> tuple[list[str], str]:
        answer = await api.get("/v1/concepts", params=asked)
        assert answer.status_code == 200, answer.text
        return [row["name"] for row in answer.json()], answer.headers["x-total-count"]

    assert await names() == (["A", "a_1", "b", "Äpfel"], "4")
    assert await names(offset=1, limit=2) == (["a_1", "b"], "4")
    assert await names(type="Tool") == (["A", "a_1", "b"], "3")
    assert await names(text="A") == (["A", "a_1"], "2"), "in any case"
    assert await names(text="äPF") == (["Äpfel"], "1")
    assert await names(text="_") == (["a_1"], "1"), "no pattern"
    assert await names(offset=9) == ([], "4")
    assert (await api.get("/v1/concepts", params={"collection": "no"})).status_code == 404


async def test_collections_keep_their_concepts_apart(api: httpx.AsyncClient) -> None:
    assert (await api.put("/v1/collections/wiki", json={})).status_code == 201
    here, there = await put(api, "Same"), await put(api, "Same", collection="wiki")
    assert here["id"] != there["id"]
    assert (there["collection"], "collection" in here) == ("wiki", False)
    await put(api, "Only here")
    body = {"source_name": "Same", "target_name": "Only here", "relation_type": "r"}
    missing = await api.post("/v1/relations", json={**body, "collection": "wiki"})
    assert missing.status_code == 404, "an end in another collection is not there"
    listed = await api.get("/v1/concepts", params={"collection": "wiki"})
    assert listed.json() == [there]
    unknown = await api.post("/v1/concepts", json={"name": "x", "collection": "none"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "collection_not_found")
    assert (await api.delete("/v1/collections/wiki")).status_code == 204
    assert (await api.get(f"/v1/concepts/{there['id']}")).status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"name": ""},
        {"name": "   "},
        {"name": "a\x00b"},
        {"name": "x" * 513},
        {"name": "x", "type": "t" * 1024},
        {"name": "x", "type": None},
        {"name": "x", "description": "d" * 20_001},
        {"name": "x", "metadata": {"a": "\x00"}},
        {"name": "x", "metadata": []},
        {},
    ],
)
async def test_what_cannot_be_stored_is_422(api: httpx.AsyncClient, fields: Any) -> None:
    """B003 for NUL, B087 for a type of 1 kB."""
    answer = await api.post("/v1/concepts", json=fields)
    assert answer.status_code == 422, answer.text


async def test_metadata_have_the_limit_of_documents(api: httpx.AsyncClient) -> None:
    answer = await api.post("/v1/concepts", json={"name": "x", "metadata": {"a": "b" * 70_000}})
    assert (answer.status_code, answer.json()["code"]) == (413, "metadata_too_large")


async def test_the_longest_names_are_stored(api: httpx.AsyncClient) -> None:
    """Four bytes a character still fit an index row."""
    long = "𝔸" * 512
    assert (await put(api, long))["name"] == long


@pytest.mark.parametrize(
    "kind", ["a`b", "}) DETACH DELETE n //", "a, b", "", "🚀", "x" * 256, "$1"]
)
async def test_a_type_is_only_ever_a_value(api: httpx.AsyncClient, kind: str) -> None:
    """B087: whatever a type holds comes back as it was, and nothing else changes."""
    bystander = await put(api, "Bystander", metadata={"`": "DETACH DELETE"})
    made = await put(api, "Typed", type=kind, metadata={kind: kind})
    assert (made["type"], made["metadata"]) == (kind, {kind: kind})
    read = await api.get(f"/v1/concepts/{bystander['id']}")
    assert read.json() == {**bystander, "relations": []}


async def test_without_a_graph_all_answer_503(open_app: OpenApp) -> None:
    _, api = await open_app(graph_enabled=False)
    for method, path, arguments in (
        ("POST", "/v1/concepts", {"json": {"name": "x"}}),
        ("GET", "/v1/concepts", {}),
        ("GET", "/v1/concepts/1", {}),
        ("PATCH", "/v1/concepts/1", {"json": {}}),
        ("DELETE", "/v1/concepts/1", {}),
        ("POST", "/v1/relations", {"json": {"source_name": "a", "target_name": "b", "relation_type": "c"}}),
        ("GET", "/v1/relations", {"params": {"concept_name": "a"}}),
        ("DELETE", "/v1/relations/1", {}),
        ("GET", "/v1/graph/neighbors/1", {}),
        ("GET", "/v1/graph/path/1/2", {}),
        ("GET", "/v1/graph/communities", {}),
        ("GET", "/v1/graph/stats", {}),
    ):  # fmt: skip
        answer = await api.request(method, path, **arguments)  # type: ignore[arg-type]
        assert answer.status_code == 503, path
        assert answer.json() == {"detail": "Graph engine is disabled", "code": "graph_off"}


async def test_many_at_once_make_one_concept_and_one_relation(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """R36, B091: the same name and the same relation from many callers."""
    made = await asyncio.gather(*(put(api, "Shared", metadata={"n": n}) for n in range(20)))
    assert len({one["id"] for one in made}) == 1
    await put(api, "Other")
    related = await asyncio.gather(*(relate(api, "Shared", "Other") for _ in range(20)))
    assert len({one["id"] for one in related}) == 1
    assert await connection.fetchval("SELECT count(*) FROM concept_relations") == 1


async def test_writers_and_deleters_meet_without_a_fault(
    api: httpx.AsyncClient, connection: Connection
) -> None:
    """Concepts that know each other every way go and come while they are related again."""
    names = [f"n{i}" for i in range(6)]

    async def churn(turn: int) -> None:
        for step in range(12):
            a, b = names[(turn + step) % 6], names[(turn * 5 + step * 2 + 1) % 6]
            made = await put(api, a)
            await put(api, b)
            if a != b:
                body = {"source_name": a, "target_name": b, "relation_type": f"t{step % 2}"}
                answer = await api.post("/v1/relations", json=body)
                assert answer.status_code in (201, 404), answer.text
            if step % 2:
                answer = await api.delete(f"/v1/concepts/{made['id']}")
                assert answer.status_code in (204, 404), answer.text

    await asyncio.gather(*(churn(turn) for turn in range(8)))
    dangling = await connection.fetchval(
        "SELECT count(*) FROM concept_relations r WHERE NOT EXISTS "
        "(SELECT FROM concepts WHERE id = r.source_id) OR NOT EXISTS "
        "(SELECT FROM concepts WHERE id = r.target_id)"
    )
    assert dangling == 0
