"""A key bound to one collection learns nothing of another: not by any operation of the API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import pytest
import pytest_asyncio

from ragbase.main import create_app
from ragbase.services.keys_format import new_key
from ragbase.settings import Settings
from ragbase.storage.pool import Database

from ..model_server import Stub
from .conftest import OpenApp
from .tenants import CALLS, CANARY, OWN, Call, Target, Tenants, comparable

ADMIN = new_key().text
OPERATIONS = sorted(
    (path, method)
    for path, operations in create_app(Settings()).openapi()["paths"].items()
    for method in operations
)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


class World:
    """The server with both tenants on it; ``tenant`` calls with a key bound to its collection."""

    def __init__(self, tenant: httpx.AsyncClient, key: str, tenants: Tenants) -> None:
        self._client = tenant
        self._key = key
        self.tenants = tenants

    async def tenant(self, call: Call, key: str | None = None) -> httpx.Response:
        arguments = dict(call.arguments)
        headers = {**bearer(key or self._key), **arguments.pop("headers", {})}
        return await self._client.request(call.method, call.path, headers=headers, **arguments)

    async def ask(self, call: Call) -> httpx.Response:
        """The answer to a call of the tenant's, whose traces are taken away again."""
        answer = await self.tenant(call)
        if call.method != "GET" and answer.is_success:
            await self.tenants.undo()
        return answer

    async def admin(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return await self._client.request(method, path, headers=bearer(ADMIN), **arguments)

    async def key(self, **wanted: Any) -> str:
        made = await self.admin("POST", "/v1/keys", json={"name": "k", **wanted})
        key: str = made.json()["key"]
        return key


@pytest_asyncio.fixture
async def world(open_app: OpenApp, db: Database, model_server: Stub) -> World:
    _, client = await open_app(auth="on", admin_key=ADMIN, reranker_url=model_server.url)
    client.headers.update(bearer(ADMIN))
    tenants = await Tenants.settle(client, db)
    made = await client.post(
        "/v1/keys", json={"name": OWN, "scopes": ["read", "write", "admin"], "collections": [OWN]}
    )
    del client.headers["authorization"]
    return World(client, made.json()["key"], tenants)


def calls(target: Target) -> Iterable[Call]:
    """Every kind of call once; some operations share their examples."""
    for aim in dict.fromkeys(CALLS[path, method] for path, method in OPERATIONS):
        yield from aim(target)


def test_there_are_calls_of_every_operation() -> None:
    """A new route fails here until `tenants.py` says how to attack it."""
    assert [each for each in OPERATIONS if each not in CALLS] == []
    assert [each for each in CALLS if each not in OPERATIONS] == []
    made = {(call.method, call.path.count("/")) for call in calls(Target("abc", 1, 1, "k"))}
    assert len(made) > 8


@pytest.mark.slow
async def test_no_operation_tells_one_tenant_of_another(world: World) -> None:
    """Each call is made twice: at the other's data, and at what does not exist, spelled alike.

    The answers must be the same, and the second one holds no word of the other tenant: so neither
    does the first, but for what the caller said itself.
    """
    theirs, nobody = world.tenants.theirs, world.tenants.nobody
    before = await world.tenants.everything_of_theirs()
    told: list[str] = []
    for hostile, harmless in zip(calls(theirs), calls(nobody), strict=True):
        absent = await world.ask(harmless)
        there = await world.ask(hostile)
        if CANARY in (absent.text + repr(absent.headers)).lower():
            told.append(f"{harmless}: {absent.text}")
        if comparable(there, theirs) != comparable(absent, nobody):
            told.append(f"{hostile}: {there.status_code} {there.text}, not {absent.text}")
        assert max(there.status_code, absent.status_code) < 500, hostile
    assert told == []
    assert await world.tenants.everything_of_theirs() == before


async def test_counts_are_of_ones_own(world: World) -> None:
    listed = await world.tenant(Call("GET", "/v1/documents"))
    assert listed.headers["x-total-count"] == "2"
    assert {row["collection"] for row in listed.json()} == {OWN}
    collections = await world.tenant(Call("GET", "/v1/collections"))
    assert [(row["name"], row["documents"]) for row in collections.json()] == [(OWN, 2)]
    assert collections.headers["x-total-count"] == "1"
    jobs = await world.tenant(Call("GET", "/v1/jobs"))
    assert (jobs.json(), jobs.headers["x-total-count"]) == ([], "0")
    stats = (await world.tenant(Call("GET", "/v1/stats"))).json()
    assert (stats["documents"], stats["storage_bytes"]) == (2, None)
    assert [row["name"] for row in stats["collections"]] == [OWN]
    assert sum(stats["jobs"].values()) == 0
    whole = await world.admin("GET", "/v1/documents")
    assert whole.headers["x-total-count"] == "5"


@pytest.mark.parametrize("arm", ["", "/keyword", "/semantic"])
async def test_scores_do_not_depend_on_what_others_store(world: World, arm: str) -> None:
    search = Call("POST", f"/v1/search{arm}", {"json": {"query": "dusk", "collection": OWN}})
    before = (await world.tenant(search)).json()["results"]
    for number in range(5):
        body = {"title": f"Dusk {number}", "content": "Dusk and dusk again, long after dusk."}
        theirs = {**body, "collection": world.tenants.theirs.collection}
        assert (await world.admin("POST", "/v1/documents", json=theirs)).status_code == 201
    assert len(before) == 2
    assert (await world.tenant(search)).json()["results"] == before


@pytest.mark.parametrize("scopes", [["read"], ["read", "write"]])
async def test_weaker_keys_see_no_more(world: World, scopes: list[str]) -> None:
    key = await world.key(scopes=scopes, collections=[OWN])
    listed = await world.tenant(Call("GET", "/v1/documents"), key)
    assert {row["collection"] for row in listed.json()} == {OWN}
    theirs = world.tenants.theirs
    for path in (f"/v1/documents/{theirs.document_id}", f"/v1/collections/{theirs.collection}"):
        assert (await world.tenant(Call("GET", path), key)).status_code == 404


async def test_left_out_a_collection_means_default_which_may_not_be_there(world: World) -> None:
    for call in (
        Call("POST", "/v1/search", {"json": {"query": "q"}}),
        Call("POST", "/v1/documents", {"json": {"title": "T", "content": "c"}}),
    ):
        answer = await world.tenant(call)
        assert (answer.status_code, answer.json()["code"]) == (404, "collection_not_found")


async def test_a_key_may_be_bound_to_several_collections(world: World) -> None:
    theirs = world.tenants.theirs
    key = await world.key(collections=[OWN, theirs.collection])
    listed = await world.tenant(Call("GET", "/v1/documents"), key)
    assert listed.headers["x-total-count"] == "4"
    body = {"query": theirs.text("content"), "collections": [OWN, theirs.collection]}
    found = await world.tenant(Call("POST", "/v1/search", {"json": body}), key)
    assert found.json()["results"][0]["collection"] == theirs.collection


async def test_a_bound_admin_manages_what_it_is_bound_to(world: World) -> None:
    key = await world.key(scopes=["admin"], collections=["later"])
    assert (await world.tenant(Call("GET", "/v1/collections"), key)).json() == []
    for method, path, status in (
        ("GET", "/v1/collections/later", 404),
        ("PUT", "/v1/collections/later", 201),
        ("PUT", "/v1/collections/later", 200),
        ("PUT", "/v1/collections/other", 403),
        ("DELETE", "/v1/collections/later", 204),
    ):
        arguments = {"json": {}} if method == "PUT" else {}
        answer = await world.tenant(Call(method, path, arguments), key)
        assert answer.status_code == status, (method, path)


async def test_what_may_not_be_seen_is_not_asked_for(world: World, db: Database) -> None:
    """So the time that an answer takes tells nothing either."""
    from ragbase.models.access import Access
    from ragbase.services.known_collections import KnownCollections

    known = KnownCollections(db).seen_by(Access(frozenset(["read"]), frozenset([OWN])))
    await db.close()
    assert await known.find([world.tenants.theirs.collection, "default", "absent"]) == []
