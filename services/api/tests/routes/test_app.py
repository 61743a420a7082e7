"""What holds for every request: ids, error shapes, hosts, health, metrics, the page."""

from __future__ import annotations

import httpx
import pytest

from ragbase.clients.embedder import Embedder
from ragbase.errors import ConfigurationError, EmbedderUnavailableError
from ragbase.main import create_app
from ragbase.settings import Settings

from ..eventually import eventually
from .conftest import Create, OpenApp


async def test_request_ids_are_echoed_or_made(api: httpx.AsyncClient) -> None:
    given = await api.get("/health/live", headers={"x-request-id": "abc-1"})
    assert given.headers["x-request-id"] == "abc-1"
    made = await api.get("/health/live")
    assert len(made.headers["x-request-id"]) == 16
    unsafe = await api.get("/health/live", headers={"x-request-id": "a b\tc"})
    assert unsafe.headers["x-request-id"] != "a b\tc"


async def test_errors_have_text_and_a_stable_code(api: httpx.AsyncClient) -> None:
    missing = await api.get("/v1/documents/1")
    assert missing.json() == {"detail": "Document not found", "code": "document_not_found"}
    path = await api.get("/nowhere")
    assert (path.status_code, path.json()["code"]) == (404, "not_found")
    method = await api.put("/v1/documents")
    assert (method.status_code, method.json()["code"]) == (405, "method_not_allowed")
    assert method.headers["allow"] == "GET, POST"
    one = await api.put("/v1/documents/1")
    assert one.headers["allow"] == "DELETE, GET, PATCH"


async def test_a_form_that_cannot_be_read_says_how_to_send_one(api: httpx.AsyncClient) -> None:
    headers = {"content-type": "multipart/form-data"}
    answer = await api.post("/v1/documents/upload", content=b"--", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_request")
    assert "boundary" in answer.json()["detail"]
    assert "Let your HTTP client build the form" in answer.json()["detail"]


@pytest.mark.parametrize("body", ["{", "[]", '"x"', "null", '{"title": NaN}', "\udcff", "{}"])
async def test_malformed_bodies_are_4xx(api: httpx.AsyncClient, body: str) -> None:
    raw = body.encode("utf-8", "surrogateescape")
    headers = {"content-type": "application/json"}
    for path in ("/v1/documents", "/v1/search", "/v1/embed"):
        answer = await api.post(path, content=raw, headers=headers)
        assert answer.status_code == 422
        assert "code" in answer.json()


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
async def test_json_that_is_not_called_json_is_told_so(
    api: httpx.AsyncClient, kind: str | None
) -> None:
    headers = {"content-type": kind} if kind else {}
    answer = await api.post("/v1/search", content=b'{"query": "q"}', headers=headers)
    assert answer.status_code == 422
    assert "Content-Type: application/json" in answer.json()["detail"][0]["msg"]


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "",
        "127.0.0.1:80@evil.example",
        "[::1]evil.example",
    ],
)
async def test_loopback_mode_refuses_foreign_hosts(api: httpx.AsyncClient, host: str) -> None:
    answer = await api.get("/health", headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (403, "host_not_allowed")


@pytest.mark.parametrize("host", ["localhost:5050", "127.0.0.1", "[::1]:5050", "LOCALHOST"])
async def test_loopback_mode_accepts_loopback_names(api: httpx.AsyncClient, host: str) -> None:
    assert (await api.get("/health/live", headers={"host": host})).status_code == 200


def test_an_open_server_must_be_asked_for() -> None:
    with pytest.raises(ConfigurationError, match="RAGBASE_ALLOW_INSECURE"):
        create_app(Settings(host="0.0.0.0", auth="off"))
    create_app(Settings(host="0.0.0.0", auth="off", allow_insecure=True))
    create_app(Settings(host="0.0.0.0"))


async def test_health_has_the_contracts_shape(api: httpx.AsyncClient) -> None:
    health = (await api.get("/health")).json()
    assert health["status"] == "ok"
    assert health["postgres"] == "connected"
    assert health["embedding"] == "healthy"
    assert (health["reranker"], health["memgraph"]) == ("disabled", "disabled")
    ready = await api.get("/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    models = (await api.get("/health/models")).json()
    assert models["embedding"]["dimensions"] == 384
    assert models["reranker"] == "disabled"


class _Away:
    """An embedding server that does not answer."""

    tokenizer = None

    async def info(self) -> object:
        raise EmbedderUnavailableError("The embedding server cannot be reached.")

    embed_query = embed_passages = embed_texts = ping = info


async def test_without_an_embedder_keyword_search_works_and_readiness_says_why(
    open_app: OpenApp, embedder: Embedder
) -> None:
    _, whole = await open_app()
    await whole.post("/v1/documents", json={"title": "T", "content": "about herrings"})
    _, client = await open_app(
        embedder=_Away(), embedding_engine="tei", embedding_url="http://127.0.0.1:9"
    )
    ready = await client.get("/health/ready")
    assert (ready.status_code, ready.json()["status"]) == (503, "not_ready")
    assert (await client.get("/health/live")).status_code == 200
    health = (await client.get("/health")).json()
    assert health["status"] == "degraded"
    keyword = (await client.post("/v1/search/keyword", json={"query": "herring"})).json()
    assert (keyword["total"], keyword["degraded"]) == (1, False)
    hybrid = (await client.post("/v1/search", json={"query": "herring"})).json()
    assert (hybrid["total"], hybrid["degraded"]) == (1, True)
    assert hybrid["warnings"][0]["code"] == "semantic_unavailable"
    for path, body in (
        ("/v1/search/semantic", {"query": "herring"}),
        ("/v1/documents", {"title": "T", "content": "x"}),
        ("/v1/embed", {"inputs": ["x"]}),
    ):
        answer = await client.post(path, json=body)
        assert answer.status_code == 503, path
        assert "retry-after" in answer.headers


async def test_an_unmigrated_database_refuses_the_start(
    empty_database_url: str, embedder: Embedder
) -> None:
    app = create_app(Settings(database_url=empty_database_url), embedder=embedder)
    with pytest.raises(ConfigurationError, match="ragbase migrate"):
        async with app.router.lifespan_context(app):
            pass


async def test_metrics_count_by_route_template(api: httpx.AsyncClient, create: Create) -> None:
    made = await create("T", "words")
    await api.get(f"/v1/documents/{made['id']}")
    await api.get("/random/path/1")
    await api.post("/v1/search", json={"query": "words"})

    async def probed() -> bool:
        return (
            'ragbase_dependency_up{dependency="postgres"} 1.0' in (await api.get("/metrics")).text
        )

    await eventually(probed)
    text = (await api.get("/metrics")).text
    assert 'route="/v1/documents/{document_id}"' in text
    assert 'route="unmatched"' in text
    assert "/random/path" not in text
    assert f"documents/{made['id']}" not in text
    assert 'ragbase_search_stage_seconds_count{mode="hybrid",stage="semantic"}' in text
    assert 'ragbase_dependency_up{dependency="postgres"} 1.0' in text


@pytest.mark.parametrize("path", ["/", "/docs"])
async def test_the_pages_load_nothing_from_elsewhere(api: httpx.AsyncClient, path: str) -> None:
    page = await api.get(path)
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "http://" not in page.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page.text
    assert "@import" not in page.text
