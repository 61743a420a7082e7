"""JSON schemas for Helm out of structural ones: closed, complete, and of no Kubernetes keyword."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ragbase_operator.charts.operator_values import OperatorValues
from ragbase_operator.charts.ragbase_values import RagBaseValues
from ragbase_operator.charts.schema import as_json_schema, values_schema
from ragbase_operator.crd.schema import structural
from ragbase_operator.models.ragbase import RagBaseSpec

SPEC = as_json_schema(structural(RagBaseSpec))


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    """All schemas with named properties."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict):
            yield schema
        for each in schema.values():
            yield from _objects(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from _objects(each)


def test_every_object_with_known_fields_is_closed() -> None:
    for schema in (values_schema(OperatorValues, "x"), values_schema(RagBaseValues, "x"), SPEC):
        found = list(_objects(schema))
        assert found
        open_ones = [each for each in found if each.get("additionalProperties") is not False]
        # An environment variable is handed on: only its name is known.
        assert all(list(each["properties"]) == ["name"] for each in open_ones)


def test_every_value_of_ours_is_required_and_none_of_a_spec_that_is_not() -> None:
    ours = values_schema(OperatorValues, "x")
    assert set(ours["required"]) == set(ours["properties"]) - {"global"}
    image = ours["properties"]["image"]
    assert set(image["required"]) == set(image["properties"])
    assert "required" not in SPEC
    assert SPEC["properties"]["rerankers"]["items"]["required"] == ["name"]


def test_no_keyword_of_kubernetes_is_left() -> None:
    """A JSON schema has none of them; rules between fields are the API server's."""
    assert "x-kubernetes-" in json.dumps(structural(RagBaseSpec))
    assert "x-kubernetes-" not in json.dumps(SPEC)


def test_a_quantity_is_a_number_or_a_text_of_its_pattern() -> None:
    found = as_json_schema(structural(RagBaseSpec))
    resources = found["properties"]["database"]["properties"]["resources"]
    quantity = resources["properties"]["limits"]["additionalProperties"]
    assert quantity["type"] == ["integer", "string"]
    assert quantity["minimum"] == 0
    assert quantity["pattern"].startswith("^[0-9]+")


def test_a_given_schema_takes_the_place_of_a_field() -> None:
    found = values_schema(RagBaseValues, "x", spec=SPEC)
    assert found["properties"]["spec"] is SPEC
    assert values_schema(RagBaseValues, "x")["properties"]["spec"] != SPEC
