"""The filter language: what is read, and what is refused with which advice."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragbase.errors import InvalidInputError
from ragbase.limits import FILTER_CONDITIONS_MAX, FILTER_DEPTH_MAX, FILTER_VALUES_MAX
from ragbase.models.filters import (
    MATCH_ALL,
    And,
    Compare,
    MetadataPath,
    Not,
    Or,
    parse_filter,
)


def eq(name: str, value: Any) -> Compare:
    return Compare(MetadataPath((name,)), "eq", value)


def refused(raw: object) -> InvalidInputError:
    with pytest.raises(InvalidInputError) as caught:
        parse_filter(raw)
    assert caught.value.code == "invalid_filter"
    assert caught.value.field is not None
    assert caught.value.field.startswith("filter")
    caught.value.message.encode()
    return caught.value


def test_a_bare_value_means_equality() -> None:
    assert parse_filter({"lang": "en"}) == eq("lang", "en")
    assert parse_filter({"tags": ["a", 1]}) == eq("tags", ["a", 1])
    assert parse_filter({"gone": None}) == eq("gone", None)


def test_the_empty_filter_matches_all() -> None:
    """B045."""
    assert parse_filter({}) == MATCH_ALL


def test_several_keys_and_several_operators_are_joined_by_and() -> None:
    year = MetadataPath(("year",))
    assert parse_filter({"year": {"gte": 2000, "lt": 2010}, "lang": "en"}) == And(
        (And((Compare(year, "gte", 2000), Compare(year, "lt", 2010))), eq("lang", "en"))
    )


def test_ne_and_nin_are_negations() -> None:
    assert parse_filter({"a": {"ne": 1}}) == Not(eq("a", 1))
    assert parse_filter({"a": {"nin": [1]}}) == Not(Compare(MetadataPath(("a",)), "in", (1,)))


def test_and_or_not_nest() -> None:
    raw = {"or": [{"a": 1}, {"and": [{"b": 2}, {"not": {"c": 3}}]}]}
    assert parse_filter(raw) == Or((eq("a", 1), And((eq("b", 2), Not(eq("c", 3))))))
    assert parse_filter({"or": []}) == Or(())


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("a.b", ("a", "b")),
        (r"a\.b", ("a.b",)),
        (r"a\\.b", ("a\\", "b")),
        (r"c:\temp", ("c:\\temp",)),
        ("metadata", ("metadata",)),
        ("metadata.and", ("and",)),
        ("metadata.@id", ("@id",)),
        ("metadata.metadata.x", ("metadata", "x")),
        ("$where", ("$where",)),
        ("e\u0301", ("\u00e9",)),
    ],
)
def test_names_become_paths(name: str, keys: tuple[str, ...]) -> None:
    assert parse_filter({name: 1}) == Compare(MetadataPath(keys), "eq", 1)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-01", datetime(2024, 5, 1, tzinfo=UTC)),
        ("2024-05-01T12:30:00Z", datetime(2024, 5, 1, 12, 30, tzinfo=UTC)),
        (
            "2024-05-01T12:30:00.5+02:00",
            datetime(2024, 5, 1, 12, 30, 0, 500_000, timezone(timedelta(hours=2))),
        ),
        (" 20240501T00 ", datetime(2024, 5, 1, tzinfo=UTC)),
    ],
)
def test_created_at_takes_iso_dates(text: str, moment: datetime) -> None:
    node = parse_filter({"@created_at": {"gte": text}})
    assert isinstance(node, Compare)
    assert node.value == moment
    assert node.value.tzinfo is UTC


@pytest.mark.parametrize(
    ("raw", "field", "advice"),
    [
        ([], "filter", "as an object"),
        (None, "filter", "as an object"),
        ("year > 3", "filter", "as an object"),
        ({"and": {"a": 1}}, "filter.and", "metadata.and"),
        ({"or": [1]}, "filter.or[0]", "as an object"),
        ({"not": [{"a": 1}]}, "filter.not", "as an object"),
        ({"a": {}}, "filter.a", '{"eq": {…}}'),
        ({"a": {"$gt": 1}}, "filter.a", "use one of eq"),
        ({"a": {"in": 1}}, "filter.a.in", "array"),
        ({"a": {"nin": "abc"}}, "filter.a.nin", "array"),
        ({"a": {"exists": 1}}, "filter.a.exists", "true or false"),
        ({"@ids": 1}, "filter.@ids", "@external_id"),
        ({"@id": "5"}, "filter.@id", "numbers"),
        ({"@id": True}, "filter.@id", "numbers"),
        ({"@id": {"in": [1, "2"]}}, "filter.@id.in[1]", "numbers"),
        ({"@id": {"contains": 1}}, "filter.@id.contains", "does not apply"),
        ({"@external_id": None}, "filter.@external_id", '"exists": false'),
        ({"@created_at": {"gt": "yesterday"}}, "filter.@created_at.gt", "ISO 8601"),
        ({"@created_at": {"gt": "0001-01-01T00:00:00+14:00"}}, "filter.@created_at.gt", "ISO"),
        ({"@created_at": {"gt": 5}}, "filter.@created_at.gt", "strings"),
        ({"a..b": 1}, "filter.a..b", "empty"),
        ({"": 1}, "filter.", "empty"),
        ({"a": "x\x00"}, "filter.a", "NUL"),
        ({"a\x00": 1}, "filter.a\N{REPLACEMENT CHARACTER}", "NUL"),
        ({"a": {"eq": {"k\x00": 1}}}, "filter.a.eq", "NUL"),
        ({"a": "\ud800"}, "filter.a", "surrogate"),
        ({"a": float("nan")}, "filter.a", "finite"),
        ({"a": {"in": [float("inf")]}}, "filter.a.in[0]", "finite"),
        ({"a": 10**400}, "filter.a", "finite"),
        ({"a": {"eq": {1, 2}}}, "filter.a.eq", "JSON"),
        ({"k" * 1001: 1}, "filter." + "k" * 60 + "…", "characters"),
        ({".".join("k" * 17): 1}, "filter." + ".".join("k" * 17), "objects deep"),
    ],
)
def test_faults_name_their_place_and_the_cure(raw: object, field: str, advice: str) -> None:
    error = refused(raw)
    assert error.field == field
    assert advice in error.message


def nested(depth: int) -> dict[str, Any]:
    node: dict[str, Any] = {"a": 1}
    for _ in range(depth):
        node = {"not": node}
    return node


def test_depth_is_limited() -> None:
    parse_filter(nested(FILTER_DEPTH_MAX))
    assert str(FILTER_DEPTH_MAX) in refused(nested(FILTER_DEPTH_MAX + 1)).message
    refused(nested(5000))


def test_depth_of_values_is_limited() -> None:
    value: Any = 1
    for _ in range(500):
        value = [value]
    assert "nested" in refused({"a": value}).message


def test_conditions_are_limited_over_the_whole_filter() -> None:
    parse_filter({"or": [{"a": n} for n in range(FILTER_CONDITIONS_MAX)]})
    refused({"or": [{"a": n} for n in range(FILTER_CONDITIONS_MAX + 1)]})
    half = {"or": [{"a": n} for n in range(FILTER_CONDITIONS_MAX // 2)]}
    error = refused({"and": [half, half, {"b": 1}]})
    assert str(FILTER_CONDITIONS_MAX) in error.message


def test_empty_branches_are_limited_too() -> None:
    refused({"and": [{} for _ in range(FILTER_CONDITIONS_MAX + 1)]})


def test_listed_values_are_limited_over_the_whole_filter() -> None:
    parse_filter({"a": {"in": list(range(FILTER_VALUES_MAX))}})
    refused({"a": {"in": list(range(FILTER_VALUES_MAX + 1))}})
    some = {"in": list(range(FILTER_VALUES_MAX // 2 + 1))}
    assert str(FILTER_VALUES_MAX) in refused({"a": some, "b": some}).message


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["and", "or", "not", "eq", "in", "gt", "exists", "@id", "@created_at"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(json_like)
def test_any_json_is_parsed_or_refused(raw: object) -> None:
    with contextlib.suppress(InvalidInputError):
        parse_filter(raw)
