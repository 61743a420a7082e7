"""Generated requests against every operation of the second API's OpenAPI document."""

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

from ragbase.main_localrag import create_localrag_app
from ragbase.services.keys_format import new_key
from ragbase.settings import Settings

from .stub_models import CHAT, EMBEDDING, RERANKER, StubModels

ADMIN = new_key().text

schema = schemathesis.openapi.from_dict(create_localrag_app(Settings()).openapi())
schema.config.generation.update(with_security_parameters=False)  # keys are given below


@pytest_asyncio.fixture(scope="session")
async def guarded_url(server_url: str, template: str, serve, new_database) -> AsyncIterator[str]:
    """URL of the second API with authentication on, and a database of its own."""
    async with new_database(f"TEMPLATE {template} STRATEGY file_copy") as url:
        values = Settings(
            database_url=url,
            pool_min=0,
            workers=0,
            auth="on",
            admin_key=ADMIN,
            localrag_embedding_model=EMBEDDING,
            localrag_chat_model=CHAT,
            localrag_reranker_model=RERANKER,
        )
        yield await asyncio.to_thread(serve, create_localrag_app(values, gguf=StubModels()))


@schema.parametrize()
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_generated_request_breaks_the_server(case: schemathesis.Case, guarded_url: str) -> None:
    """No 5xx, every answer fits what the document promises, 401 without a key.

    The contract's own 500 is of vectors that cannot be compared, which are easily generated.
    """
    if case.operation.definition.raw.get("security"):
        refused = case.call(base_url=guarded_url)
        assert refused.status_code == 401
    response = case.call(base_url=guarded_url, headers={"Authorization": f"Bearer {ADMIN}"})
    checks = [status_code_conformance, content_type_conformance, response_schema_conformance]
    comparable = response.status_code != 500 or b"ector" not in response.content
    case.validate_response(response, checks=[not_a_server_error, *checks] if comparable else checks)
