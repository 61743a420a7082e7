"""Keys, scopes, what is open and what is not: on the whole app, from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from fastapi import APIRouter

from ragbase.errors import ConfigurationError
from ragbase.main import create_app
from ragbase.routes.deps import Documents
from ragbase.routes.middleware.authentication import OPEN_PATHS
from ragbase.routes.openapi import requirements
from ragbase.services.keys_format import new_key
from ragbase.settings import Settings
from ragbase.storage.pool import Database

from .conftest import OpenApp

ADMIN = new_key().text
PROBE = new_key().text
CLIENT = new_key().text
GIVEN = {"admin_key": ADMIN, "probe_key": PROBE, "client_key": CLIENT, "auth": "on"}

HOST = "http://127.0.0.1"
APP = create_app(Settings())
DATA_ROUTES = [
    (method.upper(), re.sub(r"\{\w+\}", "12345678", path))
    for (path, method), needs in requirements(APP).items()
    if needs is not None
]


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


@pytest.fixture
async def guarded(open_app: OpenApp) -> httpx.AsyncClient:
    """A client without a key of an API that wants one."""
    _, client = await open_app(**GIVEN)
    return client


async def make_key(client: httpx.AsyncClient, **wanted: Any) -> dict[str, Any]:
    answer = await client.post("/v1/keys", json={"name": "k", **wanted}, headers=bearer(ADMIN))
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def test_every_route_declares_who_may_call_it() -> None:
    """A route without `require` serves nobody; this names it before a caller meets that."""
    open_health = {"/health/live", "/health/ready", "/health", "/health/models"}
    undeclared = {path for (path, _), needs in requirements(APP).items() if needs is None}
    assert undeclared == {"/", "/docs", "/openapi.json"} | open_health
    assert len(DATA_ROUTES) >= 20


def test_writes_need_write_and_management_needs_admin() -> None:
    wrong = [
        (method, path, needs.scope)
        for (path, method), needs in requirements(APP).items()
        if needs is not None and needs.scope == "read"
        if method != "get" and not re.match(r"/v1/(search|embed|rerank)", path)
    ]
    assert wrong == []
    keys = [needs for (path, _), needs in requirements(APP).items() if "/v1/keys" in path]
    assert all(needs is not None and needs.scope == "admin" and needs.unbound for needs in keys)


async def test_a_route_that_forgot_its_scope_serves_nobody(open_app: OpenApp) -> None:
    router = APIRouter()

    @router.get("/v1/forgotten")
    async def forgotten(documents: Documents) -> list[int]:
        return []

    app, client = await open_app(**GIVEN)
    app.include_router(router)
    assert (await client.get("/v1/forgotten")).status_code == 401
    assert (await client.get("/v1/forgotten", headers=bearer(ADMIN))).status_code == 500


def spellings(path: str) -> Iterator[str]:
    yield from (path, path + "/", "/" + path, path.upper(), "/." + path, path + "//", path + "%2F")
    yield from (path.replace("/v1", "/v1/"), path + "?api_key=" + ADMIN, path + ";a=b")


async def test_no_spelling_of_a_data_route_is_open(guarded: httpx.AsyncClient) -> None:
    """B097: trailing slash, double slash, upper case, HEAD, OPTIONS and any other method."""
    methods = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY")
    for _, path in DATA_ROUTES:
        for spelling in spellings(path):
            for method in methods:
                answer = await guarded.request(method, HOST + spelling, content=b"{")
                assert answer.status_code == 401, (method, spelling)
                assert answer.headers["www-authenticate"] == "Bearer"


async def test_unknown_paths_need_a_key_as_well(guarded: httpx.AsyncClient) -> None:
    for path in (
        "/nowhere",
        HOST + "//docs",
        "/v2",
        "/docs/",
        "/health/",
        "/redoc",
        "/metrics",
        "/mcp",
    ):
        assert (await guarded.get(path)).status_code == 401, path
    assert (await guarded.get("/nowhere", headers=bearer(PROBE))).status_code == 404


@pytest.mark.parametrize("path", [*sorted(OPEN_PATHS), "/health/ready", "/health"])
async def test_what_holds_no_data_is_open(guarded: httpx.AsyncClient, path: str) -> None:
    assert (await guarded.get(path)).status_code == 200
    assert (await guarded.get(path, headers=bearer("nonsense"))).status_code == 200


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({}, "missing_key"),
        ({"authorization": ""}, "missing_key"),
        ({"authorization": "Bearer "}, "missing_key"),
        ({"authorization": "Basic dXNlcjpw"}, "missing_key"),
        ({"x-api-key": ""}, "missing_key"),
        ({"authorization": ADMIN}, "missing_key"),
        ({"authorization": "Bearer x"}, "invalid_key"),
        ({"authorization": f"Bearer {ADMIN}x"}, "invalid_key"),
        ({"authorization": f"Bearer {ADMIN[:-1]}"}, "invalid_key"),
        ({"authorization": f"Bearer {ADMIN.upper()}"}, "invalid_key"),
        ({"authorization": f"Bearer {new_key().text}"}, "invalid_key"),
        ({"x-api-key": "rb_\u00fc_\u00fc"}, "invalid_key"),
        ({"authorization": f"Bearer {ADMIN}", "x-api-key": PROBE}, "invalid_key"),
        ({"authorization": f"Bearer {ADMIN}", "x-api-key": f"{ADMIN}, {ADMIN}"}, "invalid_key"),
    ],
)
async def test_no_valid_key_is_401_and_says_which(
    guarded: httpx.AsyncClient, headers: dict[str, str], code: str
) -> None:
    raw = [(name, value.encode("latin-1")) for name, value in headers.items()]
    answer = await guarded.get("/v1/collections", headers=raw)
    assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.headers["x-request-id"]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {ADMIN}"},
        {"authorization": f"bearer  {ADMIN} "},
        {"x-api-key": ADMIN},
        {"authorization": f"Bearer {ADMIN}", "x-api-key": ADMIN},
        {"authorization": "Basic dXNlcjpw", "x-api-key": ADMIN},
    ],
)
async def test_a_key_may_come_in_either_header(
    guarded: httpx.AsyncClient, headers: dict[str, str]
) -> None:
    assert (await guarded.get("/v1/collections", headers=headers)).status_code == 200


async def test_two_authorization_headers_of_different_keys_are_refused(
    guarded: httpx.AsyncClient,
) -> None:
    headers = [("authorization", f"Bearer {ADMIN}"), ("authorization", f"Bearer {PROBE}")]
    assert (await guarded.get("/v1/collections", headers=headers)).status_code == 401


async def test_a_missing_scope_is_403_and_named(guarded: httpx.AsyncClient) -> None:
    """B097: 401 and 403 are told apart."""
    document = {"title": "T", "content": "herrings"}
    refused = await guarded.post("/v1/documents", json=document, headers=bearer(PROBE))
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    assert "`write`" in refused.json()["detail"]
    assert (
        await guarded.post("/v1/documents", json=document, headers=bearer(CLIENT))
    ).status_code == 201
    refused = await guarded.put("/v1/collections/c", json={}, headers=bearer(CLIENT))
    assert (refused.status_code, refused.json()["code"]) == (403, "scope_missing")
    assert "`admin`" in refused.json()["detail"]
    found = await guarded.post("/v1/search", json={"query": "herrings"}, headers=bearer(PROBE))
    assert found.json()["total"] == 1


async def test_a_body_is_not_read_before_the_key_is_checked(open_app: OpenApp) -> None:
    app, _ = await open_app(**GIVEN)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        raise AssertionError("the body was asked for")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/documents",
        "raw_path": b"/v1/documents",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"999999")],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 1),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
    }
    await app(scope, receive, send)
    assert sent[0]["status"] == 401


async def test_off_lets_everybody_in_and_keys_can_be_made(api: httpx.AsyncClient) -> None:
    assert (await api.get("/v1/collections", headers=bearer("nonsense"))).status_code == 200
    made = await api.post("/v1/keys", json={"name": "first", "scopes": ["admin"]})
    assert made.status_code == 201


@pytest.mark.parametrize(
    ("host", "auth", "on"),
    [
        ("127.0.0.1", None, False),
        ("localhost", None, False),
        ("::1", None, False),
        ("127.0.0.1", "on", True),
        ("0.0.0.0", None, True),
        ("::", None, True),
        ("10.0.0.1", "on", True),
        ("10.0.0.1", "off", False),
    ],
)
def test_authentication_is_off_on_loopback_only(host: str, auth: Any, on: bool) -> None:
    assert Settings(host=host, auth=auth).auth_on is on


def test_the_switch_may_be_spelled_as_yaml_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for spelled, meant in (("true", "on"), ("OFF", "off"), ("", None)):
        monkeypatch.setenv("RAGBASE_AUTH", spelled)
        assert Settings().auth == meant


@pytest.mark.parametrize(
    "key",
    ["hunter2", "rb_x_y", ADMIN + "_", "rb_abcdefghijkl_" + "a" * 42],
    ids=["no key", "short id", "more behind it", "short secret"],
)
def test_a_given_key_of_the_wrong_form_refuses_the_start(key: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"RAGBASE_PROBE_KEY.*ragbase keys generate"
    ) as told:
        create_app(Settings(probe_key=key))  # type: ignore[arg-type]
    assert key not in str(told.value)


def test_two_given_keys_must_not_share_an_id() -> None:
    with pytest.raises(ConfigurationError, match="RAGBASE_ADMIN_KEY and RAGBASE_CLIENT_KEY"):
        create_app(Settings(admin_key=ADMIN, client_key=ADMIN))  # type: ignore[arg-type]


async def test_given_keys_are_not_stored(guarded: httpx.AsyncClient, db: Database) -> None:
    assert (await guarded.get("/v1/keys", headers=bearer(ADMIN))).json() == []
    async with db.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM api_keys") == 0


async def test_without_any_key_it_starts_and_says_how_to_make_one(
    open_app: OpenApp, logged: list[dict[str, Any]]
) -> None:
    _, client = await open_app(auth="on")
    said = next(line for line in logged if line["event"] == "no_api_key_known")
    assert "ragbase keys create" in said["hint"]
    assert (await client.get("/v1/collections")).status_code == 401


async def test_no_key_reaches_the_log(open_app: OpenApp, logged: list[dict[str, Any]]) -> None:
    _, client = await open_app(**GIVEN)
    made = await make_key(client)
    for key in (ADMIN, made["key"], made["key"] + "x"):
        await client.get("/v1/collections", headers=bearer(key))
    said = repr(logged)
    assert made["id"] in said  # who called is known by the public part
    for key in (ADMIN, PROBE, CLIENT, made["key"]):
        assert key.rpartition("_")[2] not in said


async def test_health_tells_details_only_to_a_key(open_app: OpenApp) -> None:
    _, client = await open_app(
        **GIVEN, embedding_engine="tei", embedding_url="http://models.internal:9", embedder=_Away()
    )
    open_answer = (await client.get("/health")).json()
    assert open_answer["status"] == "degraded"
    assert (open_answer["postgres"], open_answer["embedding"]) == ("connected", "error")
    told = (await client.get("/health", headers=bearer(PROBE))).json()
    assert told["embedding"].startswith("error: models.internal")
    ready = await client.get("/health/ready")
    assert (ready.status_code, ready.json()["reason"]) == (503, None)
    assert (await client.get("/health/ready", headers=bearer(PROBE))).json()["reason"]
    assert "models.internal" not in ready.text + str(open_answer)


async def test_models_are_named_only_to_a_key(guarded: httpx.AsyncClient) -> None:
    assert (await guarded.get("/health/models")).json() == {
        "embedding": {"status": "healthy"},
        "reranker": "disabled",
        "rerankers": {},
        "llms": {},
    }
    told = (await guarded.get("/health/models", headers=bearer(PROBE))).json()
    assert told["embedding"]["dimensions"] == 384


async def test_the_page_asks_for_a_key_and_keeps_it_out_of_urls(guarded: httpx.AsyncClient) -> None:
    page = (await guarded.get("/")).text
    assert 'id="key" type="password"' in page
    assert "sessionStorage" in page
    assert "localStorage" not in page
    assert "location.search" not in page


async def test_metrics_need_a_key_that_is_not_bound(guarded: httpx.AsyncClient) -> None:
    assert (await guarded.get("/metrics")).status_code == 401
    assert (await guarded.get("/metrics", headers=bearer(PROBE))).status_code == 200
    bound = await make_key(guarded, collections=["default"])
    refused = await guarded.get("/metrics", headers=bearer(bound["key"]))
    assert (refused.status_code, refused.json()["code"]) == (403, "key_is_bound")


def test_the_document_declares_both_ways_to_give_a_key() -> None:
    document = APP.openapi()
    schemes = document["components"]["securitySchemes"]
    assert {scheme["type"] for scheme in schemes.values()} == {"http", "apiKey"}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            if not path.startswith("/v1"):
                assert "security" not in operation
                continue
            assert operation["security"] == [{name: []} for name in schemes], path
            assert {"401", "403"} <= set(operation["responses"])
            assert operation["x-scope"] in ("read", "write", "admin")


class _Away:
    """An embedding server that does not answer, and says where it should be."""

    tokenizer = None

    async def info(self) -> object:
        from ragbase.errors import EmbedderUnavailableError

        raise EmbedderUnavailableError("models.internal cannot be reached.")

    embed_query = embed_passages = embed_texts = ping = info
