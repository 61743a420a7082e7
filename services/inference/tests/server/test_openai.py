"""POST /v1/embeddings, and its other name /embeddings."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

from ..scripted import LIMIT, Scripted
from .conftest import Serve
from .live import Live


@pytest.mark.parametrize("path", ["/v1/embeddings", "/embeddings"])
def test_the_list_of_embeddings(minilm_server: Live, path: str) -> None:
    body = {"input": ["hello", "world"], "model": "anything", "user": "me", "truncate": False}
    answer = minilm_server.post(path, body).json()
    assert answer["object"] == "list"
    assert answer["model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert answer["usage"] == {"prompt_tokens": 6, "total_tokens": 6}
    assert [(one["object"], one["index"]) for one in answer["data"]] == [
        ("embedding", 0),
        ("embedding", 1),
    ]
    plain = minilm_server.post("/embed", {"inputs": ["hello", "world"]}).json()
    assert [one["embedding"] for one in answer["data"]] == plain


def test_base64_is_little_endian_float32(minilm_server: Live) -> None:
    body = {"input": "hello", "encoding_format": "base64"}
    (item,) = minilm_server.post("/v1/embeddings", body).json()["data"]
    assert len(item["embedding"]) == 2048
    numbers = np.frombuffer(base64.b64decode(item["embedding"]), "<f4")
    plain = minilm_server.post("/embed", {"inputs": "hello"}).json()[0]
    np.testing.assert_array_equal(numbers, np.array(plain, np.float32))


def test_dimensions_and_token_ids(minilm_server: Live) -> None:
    body = {"input": [[101, 7592, 102]], "dimensions": 2}
    (item,) = minilm_server.post("/v1/embeddings", body).json()["data"]
    plain = minilm_server.post("/embed", {"inputs": "hello", "dimensions": 2}).json()[0]
    np.testing.assert_allclose(item["embedding"], plain, atol=1e-6)


@pytest.mark.parametrize("form", ["x", None])
def test_another_encoding_is_refused_in_plain_text(minilm_server: Live, form: Any) -> None:
    answer = minilm_server.post("/v1/embeddings", {"input": "a", "encoding_format": form})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize(
    ("given", "status", "kind"),
    [([], 400, "Empty"), (["a"] * 33, 422, "Validation"), ([99_999], 422, "Validation")],
)
def test_errors_are_flat(minilm_server: Live, given: Any, status: int, kind: str) -> None:
    answer = minilm_server.post("/v1/embeddings", {"input": given})
    error = answer.json()
    assert answer.status_code == error["code"] == status
    assert error["type"] == kind
    assert set(error) == {"message", "code", "type"}


def test_whether_long_texts_are_cut_is_the_servers_rule(serve: Serve, model: Scripted) -> None:
    long = "a " * LIMIT
    assert serve().post("/v1/embeddings", {"input": long}).status_code == 200
    strict = serve(auto_truncate=False)
    assert strict.post("/v1/embeddings", {"input": long}).json()["code"] == 422
    assert strict.post("/embed", {"inputs": long}).status_code == 422
    assert strict.post("/embed", {"inputs": long, "truncate": True}).status_code == 200
