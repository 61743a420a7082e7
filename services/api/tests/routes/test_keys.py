"""The key routes: a key is shown once, listed without its secret, and ended for good."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ragbase.services.keys_format import new_key

from .conftest import OpenApp

ADMIN = new_key().text


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture
async def admin(open_app: OpenApp) -> httpx.AsyncClient:
    """A client with an admin key."""
    _, client = await open_app(auth="on", admin_key=ADMIN)
    client.headers.update(bearer(ADMIN))
    return client


async def make(client: httpx.AsyncClient, **wanted: Any) -> dict[str, Any]:
    answer = await client.post("/v1/keys", json={"name": "k", **wanted})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def test_a_key_is_shown_once(admin: httpx.AsyncClient) -> None:
    answer = await admin.post("/v1/keys", json={"name": " wiki ", "collections": ["wiki"]})
    assert answer.headers["cache-control"] == "no-store"
    made = answer.json()
    assert made["key"].startswith(f"rb_{made['id']}_")
    key = made.pop("key")
    assert made["name"] == "wiki"
    assert made["scopes"] == ["read"]
    assert (await admin.get(f"/v1/keys/{made['id']}")).json() == made
    listed = await admin.get("/v1/keys")
    assert listed.json() == [made]
    assert listed.headers["x-total-count"] == "1"
    assert key.rpartition("_")[2] not in listed.text


async def test_a_revoked_key_is_refused_at_once_and_stays_listed(admin: httpx.AsyncClient) -> None:
    made = await make(admin)
    assert (await admin.get("/v1/collections", headers=bearer(made["key"]))).status_code == 200
    assert (await admin.delete(f"/v1/keys/{made['id']}")).status_code == 204
    refused = await admin.get("/v1/collections", headers=bearer(made["key"]))
    assert (refused.status_code, refused.json()["code"]) == (401, "invalid_key")
    assert (await admin.get(f"/v1/keys/{made['id']}")).json()["revoked_at"]
    assert (await admin.delete(f"/v1/keys/{made['id']}")).status_code == 204


async def test_a_key_just_made_works_though_its_id_was_tried_before(
    admin: httpx.AsyncClient,
) -> None:
    made = await make(admin)
    assert (await admin.get("/v1/collections", headers=bearer(made["key"]))).status_code == 200


@pytest.mark.parametrize("key_id", ["abcdefghijkl", ADMIN.split("_")[1]], ids=["none", "given"])
async def test_an_unknown_id_is_404(admin: httpx.AsyncClient, key_id: str) -> None:
    for answer in (await admin.get(f"/v1/keys/{key_id}"), await admin.delete(f"/v1/keys/{key_id}")):
        assert (answer.status_code, answer.json()["code"]) == (404, "key_not_found")


@pytest.mark.parametrize(
    "wanted",
    [
        {"name": ""},
        {"name": "  "},
        {"name": "a\x00b"},
        {"name": "x" * 201},
        {"scopes": []},
        {"scopes": ["root"]},
        {"scopes": ["read"] * 4},
        {"collections": []},
        {"collections": ["Not A Name"]},
        {"expires_at": "2001-01-01T00:00:00Z"},
        {"expires_at": "2999-01-01T00:00:00"},
        {"expires_at": "9999-12-31T23:59:59-14:00"},
    ],
)
async def test_what_cannot_be_a_key_is_422(
    admin: httpx.AsyncClient, wanted: dict[str, Any]
) -> None:
    answer = await admin.post("/v1/keys", json={"name": "k", **wanted})
    assert answer.status_code == 422
    assert (await admin.get("/v1/keys")).json() == []


async def test_pages_are_newest_first(admin: httpx.AsyncClient) -> None:
    made = [(await make(admin, name=str(number)))["id"] for number in range(5)]
    page = await admin.get("/v1/keys", params={"offset": 1, "limit": 2})
    assert [key["id"] for key in page.json()] == [made[3], made[2]]
    assert page.headers["x-total-count"] == "5"


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        ({"scopes": ["read", "write"]}, "scope_missing"),
        ({"scopes": ["admin"], "collections": ["default"]}, "key_is_bound"),
    ],
)
async def test_only_an_admin_that_is_not_bound_manages_keys(
    admin: httpx.AsyncClient, wanted: dict[str, Any], code: str
) -> None:
    other = await make(admin, **wanted)
    calls = [("GET", ""), ("POST", ""), ("GET", f"/{other['id']}"), ("DELETE", f"/{other['id']}")]
    for method, path in calls:
        answer = await admin.request(
            method, f"/v1/keys{path}", json={"name": "more"}, headers=bearer(other["key"])
        )
        assert (answer.status_code, answer.json()["code"]) == (403, code)
    assert len((await admin.get("/v1/keys")).json()) == 1
