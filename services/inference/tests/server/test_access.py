"""The key, and what wants none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.tokens import TextTokenizer

from ..scripted import Scripted
from .conftest import Serve
from .live import Live, serving

KEY = {"authorization": "Bearer secret"}
GUARDED = [
    ("POST", "/embed"),
    ("POST", "/"),
    ("POST", "/v1/embeddings"),
    ("POST", "/v1/rerank"),
    ("POST", "/tokenize"),
    ("GET", "/info"),
    ("GET", "/v1/models"),
    ("POST", "/models/default/embed"),
    ("POST", "/models/default/"),
    ("POST", "/models/default"),
    ("GET", "/models/default/info"),
]


@pytest.fixture(scope="module")
def guarded(tokenizer: TextTokenizer) -> Iterator[Live]:
    with serving(ServerSettings(api_key="secret"), lambda _: Scripted(tokenizer)) as live:
        yield live


@pytest.mark.parametrize(("method", "path"), GUARDED)
@pytest.mark.parametrize(
    "given", [None, "secret", "bearer secret", "Bearer  secret", "Bearer other", "Bearer secret2"]
)
def test_only_the_exact_key_is_let_in(
    guarded: Live, method: str, path: str, given: str | None
) -> None:
    headers = {} if given is None else {"authorization": given}
    answer = guarded.http.request(method, path, headers=headers)
    assert (answer.status_code, answer.content) == (401, b"")
    assert "content-type" not in answer.headers


def test_the_key_lets_in(guarded: Live) -> None:
    assert guarded.post("/embed", {"inputs": "a"}, headers=KEY).status_code == 200
    assert guarded.http.get("/info", headers=KEY).status_code == 200


def test_the_key_is_asked_for_before_body_and_method(guarded: Live) -> None:
    assert guarded.http.post("/embed", content=b"x" * 3_000_000).status_code == 401
    assert guarded.http.put("/embed").status_code == 401
    assert guarded.http.put("/embed", headers=KEY).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/health",
        "/ping",
        "/",
        "/metrics",
        "/api-doc/openapi.json",
        "/models/default",
        "/models/default/health",
        "/models/default/metrics",
    ],
)
def test_probes_and_scrapes_want_none(guarded: Live, path: str) -> None:
    assert guarded.get(path).status_code == 200


def test_unknown_paths_are_404_with_or_without(guarded: Live) -> None:
    assert guarded.get("/nothing").status_code == 404
    assert guarded.get("/models/none/info").status_code == 404


def test_a_server_without_a_key_ignores_the_header(serve: Serve) -> None:
    assert serve().post("/embed", {"inputs": "a"}, headers=KEY).status_code == 200


def test_an_empty_key_is_none(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """text-embeddings-inference locks everybody out here."""
    monkeypatch.setenv("API_KEY", "")
    assert serve().post("/embed", {"inputs": "a"}).status_code == 200
