"""The OpenAPI document, and generated requests against every operation in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ragbase_inference.kinds import Kind
from ragbase_inference.server.openapi import openapi_document
from ragbase_inference.server.settings import ServerSettings
from ragbase_inference.tokens import TextTokenizer

from ..scripted import Scripted
from .live import Live, serving

KINDS: tuple[Kind, ...] = ("embedding", "reranker", "classifier", "ner")
schema = schemathesis.openapi.from_dict(openapi_document(["model"], with_key=False))


@pytest.fixture(scope="module")
def servers(tokenizer: TextTokenizer) -> Iterator[list[Live]]:
    """A server of each kind of model."""
    with ExitStack() as stack:

        def serve(kind: Kind) -> Live:
            labels = ("good", "bad") if kind == "classifier" else ("LABEL_0",)
            model = Scripted(tokenizer, kind, labels)
            return stack.enter_context(serving(ServerSettings(), lambda _: model))

        yield [serve(kind) for kind in KINDS]


@schema.parametrize()
@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_generated_request_breaks_the_server(
    case: schemathesis.Case[Any], servers: list[Live]
) -> None:
    """No 5xx, and every answer fits what the document promises, whatever the model is."""
    for live in servers:
        case.validate_response(
            case.call(base_url=live.url),
            checks=[
                not_a_server_error,
                status_code_conformance,
                content_type_conformance,
                response_schema_conformance,
            ],
        )


def test_the_document_is_served_and_names_the_models(minilm_server: Live) -> None:
    document = minilm_server.get("/api-doc/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert document["servers"][1]["variables"]["name"]["enum"] == ["default"]
    assert "security" not in document


def test_the_document_asks_for_the_key_where_the_server_does() -> None:
    document = openapi_document(["a", "b"], with_key=True)
    assert document["security"] == [{"key": []}]
    assert document["paths"]["/health"]["get"]["security"] == []
