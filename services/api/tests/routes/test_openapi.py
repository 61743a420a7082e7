"""Generated requests against every operation of the OpenAPI document, on the real API."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ragbase.main import create_app
from ragbase.settings import Settings

schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())


@schema.parametrize()
@settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_no_generated_request_breaks_the_server(case: schemathesis.Case, api_url: str) -> None:
    """No 5xx but documented 503s, and every answer fits what the document promises."""
    response = case.call(base_url=api_url)
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
