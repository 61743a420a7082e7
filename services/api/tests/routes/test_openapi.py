"""Generated requests against every operation of the OpenAPI document, on the real API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest_asyncio
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ragbase.main import create_app
from ragbase.services.keys_format import new_key
from ragbase.settings import Settings

from ..model_server import Stub, running

ADMIN = new_key().text

schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())
schema.config.generation.update(with_security_parameters=False)  # keys are given below


@schemathesis.serializer("application/x-ndjson")
def as_lines(_: object, value: object) -> bytes:
    """The document calls them a string: whatever was generated is sent as it is."""
    return str(value).encode("utf-8", "surrogatepass")


@pytest_asyncio.fixture(scope="session")
async def guarded_url(server_url: str, template: str, serve, new_database) -> AsyncIterator[str]:
    """URL of the API with authentication and a reranker on, and a database of its own."""
    reranker = Stub(max_batch=32, model_type={"reranker": {}})
    async with new_database(f"TEMPLATE {template} STRATEGY file_copy") as url:
        with running(reranker):
            settings = Settings(
                database_url=url,
                pool_min=0,
                auth="on",
                admin_key=ADMIN,
                reranker_url=reranker.url,
            )
            yield await asyncio.to_thread(serve, create_app(settings))


@schema.parametrize()
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_generated_request_breaks_the_server(case: schemathesis.Case, guarded_url: str) -> None:
    """No 5xx but documented 503s, every answer fits what the document promises, 401 without a key."""
    if case.operation.definition.raw.get("security"):
        refused = case.call(base_url=guarded_url)
        assert (refused.status_code, refused.json()["code"]) == (401, "missing_key")
    response = case.call(base_url=guarded_url, headers={"Authorization": f"Bearer {ADMIN}"})
    if response.status_code == 503:
        assert response.json()["code"]
        return
    case.validate_response(
        response,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )
