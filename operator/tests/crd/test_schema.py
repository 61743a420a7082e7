"""From models to structural schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field

from ragbase_operator.crd.manifest import definition
from ragbase_operator.crd.schema import structural
from ragbase_operator.models.base import Part, Rule, unchanged
from ragbase_operator.models.kinds import KINDS, RAGBASE, Kind

BY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


class Wheel(Part):
    """A wheel."""

    spokes: int = Field(default=32, ge=1, le=99, description="How many.")
    rules = (Rule("self.spokes % 2 == 0", "spokes come in pairs: give an even number"),)


class SmallWheel(Wheel):
    """A small wheel."""

    spokes: int = Field(default=16, ge=1, le=99, description="How many.")


class Bell(Part):
    """A bell."""

    sound: str | None = Field(default=None, max_length=8, description="What it says.")


class Bicycle(Part):
    """A bicycle."""

    maker: Annotated[str, Field(max_length=9)] = Field(description="Who made it.")
    front: SmallWheel = Field(default_factory=SmallWheel, description="In front.")
    rear: Wheel = Field(default_factory=lambda: Wheel(spokes=36), description="Behind.")
    bell: Bell = Field(default_factory=Bell, description="To be heard.")
    rider: Bell | None = Field(default=None, description="To be seen.")
    gears: list[int] = Field(default_factory=list, max_length=3, description="Ratios.")
    extra: dict[str, Any] = Field(default_factory=dict, max_length=2, description="Whatever.")
    colour: Literal["red", "blue"] = Field(default="red", description="To be seen.")


def test_references_are_inlined_with_the_description_of_the_field() -> None:
    front = structural(Bicycle)["properties"]["rear"]
    assert front["description"] == "Behind."
    assert front["properties"]["spokes"] == {
        "description": "How many.",
        "type": "integer",
        "minimum": 1,
        "maximum": 99,
        "default": 32,
    }


def test_the_default_of_an_object_is_whole() -> None:
    """The API server judges a default by the rules before it fills it in."""
    properties = structural(Bicycle)["properties"]
    assert properties["rear"]["default"] == {"spokes": 36}
    assert properties["front"]["default"] == {"spokes": 16}


def test_objects_without_defaults_or_rules_are_left_out_and_so_are_empty_lists() -> None:
    properties = structural(Bicycle)["properties"]
    assert [name for name in properties if "default" in properties[name]] == [
        "front",
        "rear",
        "colour",
    ]


def test_optional_is_absent_and_never_null() -> None:
    schema = structural(Bicycle)
    assert schema["required"] == ["maker"]
    assert schema["properties"]["bell"]["properties"]["sound"] == {
        "description": "What it says.",
        "type": "string",
        "maxLength": 8,
    }
    assert schema["properties"]["rider"]["description"] == "To be seen."


def test_rules_become_validations() -> None:
    assert structural(Wheel)["x-kubernetes-validations"] == [
        {"rule": "self.spokes % 2 == 0", "message": "spokes come in pairs: give an even number"}
    ]


def test_only_what_is_passed_through_keeps_unknown_fields() -> None:
    schema = structural(Bicycle)
    open_ones = [
        name
        for name, each in schema["properties"].items()
        if each.get("x-kubernetes-preserve-unknown-fields")
    ]
    assert open_ones == ["extra"]


def test_a_keyword_without_a_place_in_a_structural_schema_is_refused() -> None:
    class Odd(Part):
        """Odd."""

        value: int = Field(default=1, multiple_of=2)

    with pytest.raises(ValueError, match="multipleOf"):
        structural(Odd)


def test_unchanged_is_about_the_field_and_its_presence() -> None:
    assert unchanged("a") == (
        "has(self.a) == has(oldSelf.a) && (!has(self.a) || self.a == oldSelf.a)"
    )


@BY_KIND
def test_every_field_has_a_description(kind: Kind) -> None:
    for path, schema in fields(
        definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    ):
        if path not in (".metadata",):
            assert len(schema.get("description", "")) >= 5, path


@BY_KIND
def test_schemas_are_structural(kind: Kind) -> None:
    """Kubernetes' rules: a type everywhere, no references, junctors only for amounts."""
    root = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for path, schema in nodes(root, ""):
        amount = schema.get("x-kubernetes-int-or-string", False)
        assert ("type" in schema) != amount, path
        assert ("anyOf" in schema) == amount, path
        assert not {"$ref", "allOf", "oneOf", "not", "title", "nullable"} & schema.keys(), path
        assert "additionalProperties" not in schema or "properties" not in schema, path


@BY_KIND
def test_only_what_goes_into_pods_and_policies_keeps_unknown_fields(kind: Kind) -> None:
    root = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    names = {
        path.removesuffix("[]").rpartition(".")[2]
        for path, schema in nodes(root, "")
        if schema.get("x-kubernetes-preserve-unknown-fields")
    }
    pods = {"tolerations", "affinity", "topologySpreadConstraints", "env", "envFrom"}
    assert names == (pods | {"allowFrom"} if kind is RAGBASE else pods)


@BY_KIND
def test_conditions_are_a_map_by_type_and_rerankers_by_name(kind: Kind) -> None:
    root = definition(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    keys = {
        path: schema["x-kubernetes-list-map-keys"]
        for path, schema in nodes(root, "")
        if schema.get("x-kubernetes-list-type") == "map"
    }
    assert keys[".status.conditions"] == ["type"]
    assert kind is not RAGBASE or keys[".spec.rerankers"] == ["name"]


def test_the_override_of_one_gpu_is_in_no_schema() -> None:
    assert all("HSA_" not in str(definition(kind)) for kind in KINDS)


def nodes(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield path, schema
    for name, each in schema.get("properties", {}).items():
        yield from nodes(each, f"{path}.{name}")
    for inner in ("items", "additionalProperties"):
        if inner in schema:
            yield from nodes(schema[inner], f"{path}[]")


def fields(root: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    return ((path, each) for path, each in nodes(root, "") if path and not path.endswith("[]"))
