"""Relations over HTTP: the contract's order of checks and mended faults."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from .test_concepts import put, relate


@pytest.fixture
async def ids(api: httpx.AsyncClient) -> dict[str, int]:
    return {name: (await put(api, name))["id"] for name in ("Ada", "Babbage", "Engine")}


async def listed(api: httpx.AsyncClient, name: str, **asked: Any) -> list[dict[str, Any]]:
    answer = await api.get("/v1/relations", params={"concept_name": name, **asked})
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()
    return rows


async def test_a_relation_has_the_contracts_fields(
    api: httpx.AsyncClient, ids: dict[str, int]
) -> None:
    made = await relate(api, "Ada", "Babbage", " wrote to", metadata={"year": 1843})
    assert made == {
        "id": made["id"],
        "source": "Ada",
        "target": "Babbage",
        "relation_type": "WROTE_TO",
        "metadata": {"year": 1843},
    }


async def test_the_same_relation_again_is_the_same(
    api: httpx.AsyncClient, ids: dict[str, int]
) -> None:
    """R36: told apart by source, cleaned type and target; its metadata are replaced."""
    first = await relate(api, "Ada", "Babbage", "wrote to", metadata={"n": 1})
    again = await relate(api, "Ada", "Babbage", "WROTE-TO", metadata={"n": 2})
    assert again == {**first, "metadata": {"n": 2}}
    back = await relate(api, "Babbage", "Ada", "wrote to")
    other = await relate(api, "Ada", "Babbage", "admired")
    assert len({first["id"], back["id"], other["id"]}) == 3
    assert await listed(api, "Ada") == [again, back, other]


async def test_directions_are_kept(api: httpx.AsyncClient, ids: dict[str, int]) -> None:
    """R32: source and target are the relation's own, whoever was asked for."""
    made = await relate(api, "Babbage", "Engine", "built")
    assert await listed(api, "Engine") == await listed(api, "Babbage") == [made]
    assert (made["source"], made["target"]) == ("Babbage", "Engine")


async def test_a_relation_to_oneself_is_refused_before_anything_is_looked_up(
    api: httpx.AsyncClient,
) -> None:
    body = {"source_name": "Nobody", "target_name": "Nobody", "relation_type": "r"}
    answer = await api.post("/v1/relations", json=body)
    assert answer.status_code == 400
    assert answer.json() == {
        "detail": "Self-referencing relations are not allowed",
        "code": "self_reference",
    }
    blank = {**body, "relation_type": " "}
    assert (await api.post("/v1/relations", json=blank)).status_code == 400, "checked first"
    same = {**body, "source_name": "Cafe\u0301", "target_name": "Caf\u00e9"}
    assert (await api.post("/v1/relations", json=same)).status_code == 400


@pytest.mark.parametrize("ends", [("Ada", "Nobody"), ("Nobody", "Ada"), ("ada", "Babbage")])
async def test_an_unknown_end_is_404(
    api: httpx.AsyncClient, ids: dict[str, int], ends: tuple[str, str]
) -> None:
    """Names are compared with their case."""
    body = {"source_name": ends[0], "target_name": ends[1], "relation_type": "r"}
    answer = await api.post("/v1/relations", json=body)
    assert (answer.status_code, answer.json()["detail"]) == (404, "One or both concepts not found")


async def test_unknown_names_have_no_relations(api: httpx.AsyncClient, ids: dict[str, int]) -> None:
    await relate(api, "Ada", "Babbage")
    assert await listed(api, "ada") == []
    assert (await api.get("/v1/relations")).status_code == 422
    assert (await api.get("/v1/relations", params={"concept_name": ""})).status_code == 422


async def test_relations_come_page_by_page(api: httpx.AsyncClient, ids: dict[str, int]) -> None:
    made = [await relate(api, "Ada", "Engine", kind) for kind in ("c", "a", "b")]
    assert await listed(api, "Engine", offset=1, limit=1) == made[1:2]
    answer = await api.get("/v1/relations", params={"concept_name": "Ada", "limit": 1})
    assert answer.headers["x-total-count"] == "3"


async def test_a_relation_is_deleted_alone(api: httpx.AsyncClient, ids: dict[str, int]) -> None:
    made = await relate(api, "Ada", "Babbage")
    kept = await relate(api, "Ada", "Engine")
    assert (await api.delete(f"/v1/relations/{made['id']}")).status_code == 204
    assert await listed(api, "Ada") == [kept]
    gone = await api.delete(f"/v1/relations/{made['id']}")
    assert (gone.status_code, gone.json()["detail"]) == (404, "Relation not found")
    assert (await api.get(f"/v1/concepts/{ids['Babbage']}")).status_code == 200


async def test_relations_of_entities_are_out_of_reach(
    api: httpx.AsyncClient, connection: Any
) -> None:
    """R33: DELETE /v1/relations removes relations between concepts only."""
    from ..graph_rows import add_document

    await add_document(connection, ("t", ["Ada", "Babbage"], [("Ada", "Babbage")]))
    relation_id = await connection.fetchval("SELECT id FROM relations")
    assert (await api.delete(f"/v1/relations/{relation_id}")).status_code == 404
    assert await connection.fetchval("SELECT count(*) FROM relations") == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"relation_type": ""},
        {"relation_type": " \t"},
        {"relation_type": "a\x00"},
        {"relation_type": "r" * 257},
        {"source_name": " "},
        {"target_name": ""},
        {"metadata": None},
        {"metadata": {"deep": "\x00"}},
    ],
)
async def test_what_cannot_be_stored_is_422(
    api: httpx.AsyncClient, ids: dict[str, int], fields: dict[str, Any]
) -> None:
    body = {"source_name": "Ada", "target_name": "Babbage", "relation_type": "r", **fields}
    answer = await api.post("/v1/relations", json=body)
    assert answer.status_code == 422, answer.text
