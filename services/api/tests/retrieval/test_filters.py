"""Compiled filters on Postgres agree with a plain reading of the language in Python."""

from __future__ import annotations

import json
import operator
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ragbase.models.filters import (
    And,
    Filter,
    MetadataPath,
    Not,
    Or,
    parse_filter,
)
from ragbase.retrieval.filters import compile_filter

ABSENT = object()
EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
ORDER = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}

# The reference


def json_equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(json_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(json_equal(left[k], right[k]) for k in left)
    return bool(left == right)


def member(found: Any, value: Any) -> bool:
    return isinstance(found, list) and any(json_equal(item, value) for item in found)


def equal(found: Any, value: Any) -> bool:
    return json_equal(found, value) or member(found, value)


def number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def ordered(found: Any, op: str, value: Any) -> bool:
    comparable = (number(found) and number(value)) or any(
        isinstance(found, kind) and isinstance(value, kind) for kind in (str, datetime)
    )
    if not comparable:
        return False
    return bool(ORDER[op](found, value))


def contains(found: Any, value: Any) -> bool:
    if isinstance(found, str) and isinstance(value, str):
        return value in found
    return member(found, value)


def look_up(document: dict[str, Any], field: MetadataPath | str) -> Any:
    if isinstance(field, str):
        found = document[field[1:]]
        return ABSENT if found is None else found
    found = document["metadata"]
    for key in field.keys:
        if not isinstance(found, dict) or key not in found:
            return ABSENT
        found = found[key]
    return found


def matches(node: Filter, document: dict[str, Any]) -> bool:
    if isinstance(node, And):
        return all(matches(inner, document) for inner in node.nodes)
    if isinstance(node, Or):
        return any(matches(inner, document) for inner in node.nodes)
    if isinstance(node, Not):
        return not matches(node.node, document)
    found = look_up(document, node.field)
    if node.op == "exists":
        return (found is not ABSENT) is node.value
    if found is ABSENT:
        return False
    if node.op == "eq":
        return equal(found, node.value)
    if node.op == "in":
        return any(equal(found, value) for value in node.value)
    if node.op == "contains":
        return contains(found, node.value)
    return ordered(found, node.op, node.value)


# The statement: CTEs stand in for the tables, so an example costs one round trip

STATEMENT = """
WITH documents AS (
    SELECT * FROM jsonb_to_recordset($1::text::jsonb)
        AS d(id bigint, external_id text, title text, created_at timestamptz, metadata jsonb)
), chunks AS (SELECT id AS document_id, metadata FROM documents)
SELECT c.document_id AS id, ARRAY[{sql}] AS verdicts FROM chunks c ORDER BY 1
"""


async def verdicts(
    db: Any, nodes: Sequence[Filter], documents: list[dict[str, Any]]
) -> list[list[bool | None]]:
    """A list for each document: what each filter says of it."""
    conditions, args = (
        [],
        [json.dumps([d | {"created_at": str(d["created_at"])} for d in documents])],
    )
    for node in nodes:
        condition = compile_filter(node, first=len(args) + 1)
        conditions.append(condition.sql)
        args += condition.args
    async with db.acquire() as connection:
        found = await connection.fetch(STATEMENT.format(sql=", ".join(conditions)), *args)
    return [row["verdicts"] for row in found]


def document(metadata: dict[str, Any], number: int = 1, **fields: Any) -> dict[str, Any]:
    return {
        "id": number,
        "external_id": None,
        "title": "Title",
        "created_at": EPOCH,
        "metadata": metadata,
        **fields,
    }


async def check(db: Any, filters: Sequence[Any], documents: list[dict[str, Any]]) -> None:
    nodes = [parse_filter(raw) for raw in filters]
    found = await verdicts(db, nodes, documents)
    for document_, row in zip(documents, found, strict=True):
        expected = [matches(node, document_) for node in nodes]
        wrong = [f for f, a, b in zip(filters, row, expected, strict=True) if a is not b]
        assert not wrong, (document_, wrong)


# Every operator with every value on every stored value

SCALARS: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.0, 0.5, 1e22, 10**22, 2**63, 1e-7, 1e300),
    *("", "1", "01", "1.10", "1e5", "nan", "true", "null", "Chad", "chad", "é", "Z"),
    *("a'b", "100%", "x_y", "\\", "😀", "ﬀ", "2024-05-01", "日本", '"', "{}", "ha"),
]
COMPOSITES: list[Any] = [
    *(
        [],
        [1],
        [1, 2],
        [2, 1, 1],
        ["Chad"],
        ["Chad", None],
        [[1]],
        [True, "1"],
        [{"a": 1}],
        [[], {}],
    ),
    *({}, {"a": 1}, {"a": 1.0, "b": None}, {"a": [1]}, {"a": {"a": 1}}, {"b": "Chad"}),
]
OPERATORS = ["eq", "ne", "gt", "gte", "lt", "lte", "contains"]


@pytest.mark.parametrize("name", ["a", "a.a"])
@pytest.mark.parametrize("op", [*OPERATORS, "in", "nin"])
async def test_each_operator_on_each_pair_of_values(db: Any, op: str, name: str) -> None:
    pool = SCALARS + COMPOSITES
    stored = [{}, *({"a": value} for value in pool), *({"a": {"a": value}} for value in pool)]
    operands = pool if op in OPERATORS else [[value, "other"] for value in pool]
    filters = [{name: {op: operand}} for operand in operands]
    await check(db, filters, [document(metadata, n) for n, metadata in enumerate(stored)])


# Random filters on random documents, from small pools so that they meet

KEYS = ["a", "b", "a.b", "and", "@id", "é", "0"]
scalars = st.sampled_from(SCALARS) | st.integers(-3, 3)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=2)
    ),
    max_leaves=4,
)
documents = st.lists(
    st.builds(
        lambda metadata, external_id, title, days: {
            "external_id": external_id,
            "title": title,
            "created_at": EPOCH + timedelta(days=days, microseconds=days),
            "metadata": metadata,
        },
        st.dictionaries(st.sampled_from(KEYS), values, max_size=4),
        st.none() | st.sampled_from(["x", "X", "é", "Chad"]),
        st.sampled_from(["x", "Chad", "Z", "日本"]),
        st.integers(-2, 2),
    ),
    min_size=1,
    max_size=8,
).map(lambda found: [{"id": n, **d} for n, d in enumerate(found, 1)])

names = st.sampled_from(
    ["a", "b", "a.b", "b.a", "a.0", r"a\.b", "metadata.and", "metadata.@id", "é", "a.b.a"]
)
comparisons = st.sampled_from(OPERATORS)
metadata_conditions = (
    values.filter(lambda value: not isinstance(value, dict))
    | st.dictionaries(comparisons, values, min_size=1, max_size=2)
    | st.dictionaries(st.sampled_from(["in", "nin"]), st.lists(values, max_size=4), min_size=1)
    | st.dictionaries(
        st.sampled_from(["in", "nin"]), st.lists(scalars, min_size=17, max_size=20), min_size=1
    )
    | st.fixed_dictionaries({"exists": st.booleans()})
)
orders = ["eq", "ne", "gt", "gte", "lt", "lte"]
moments = st.integers(-2, 2).map(
    lambda days: (EPOCH + timedelta(days=days, microseconds=days)).isoformat()
)


def typed(ops: list[str], operands: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        operands
        | st.dictionaries(st.sampled_from(ops), operands, min_size=1, max_size=2)
        | st.dictionaries(
            st.sampled_from(["in", "nin"]), st.lists(operands, max_size=3), min_size=1
        )
        | st.fixed_dictionaries({"exists": st.booleans()})
    )


texts = st.sampled_from(["x", "X", "é", "Chad", "Z", "日本", "a", "", "ha"])
entries = st.one_of(
    st.tuples(names, metadata_conditions),
    st.tuples(
        st.just("@id"),
        typed(orders, st.integers(-1, 9) | st.sampled_from([1.0, 2.5, 2**63, -(2**70), 1e300])),
    ),
    st.tuples(st.sampled_from(["@external_id", "@title"]), typed([*orders, "contains"], texts)),
    st.tuples(st.just("@created_at"), typed(orders, moments)),
)
leaves = st.lists(entries, max_size=2).map(dict)
filters = st.recursive(
    leaves,
    lambda inner: (
        st.fixed_dictionaries({"and": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"or": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"not": inner})
    ),
    max_leaves=6,
).filter(lambda raw: depth(raw) <= 5)


def depth(raw: dict[str, Any]) -> int:
    inner = [d for key in ("and", "or") for d in raw.get(key, [])] + (
        [raw["not"]] if "not" in raw else []
    )
    nested = any(key in raw for key in ("and", "or", "not"))
    return nested + max((depth(d) for d in inner), default=0)


@given(raw=filters, stored=documents)
@example(raw={"not": {"a": {"gt": 1}}}, stored=[document({"a": None}), document({}, 2)])
@example(raw={"a": {"ne": None}}, stored=[document({"a": None}), document({}, 2)])
@example(raw={"a": 1}, stored=[document({"a": True}), document({"a": [1.0]}, 2)])
@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_postgres_agrees_with_the_reference(
    db: Any, raw: dict[str, Any], stored: list[dict[str, Any]]
) -> None:
    await check(db, [raw], stored)


# Cases people reported, and the corners of the language


async def matched(db: Any, raw: dict[str, Any], *metadata: Any) -> list[int]:
    """Positions (from 0) of the metadata objects that the filter matches."""
    stored = [document(found, number) for number, found in enumerate(metadata)]
    found = await verdicts(db, [parse_filter(raw)], stored)
    return [position for position, [verdict] in enumerate(found) if verdict]


@pytest.mark.parametrize("value", ["1.10", "01", "1e5", "2024_123", "nan"])
async def test_strings_like_numbers_are_compared_as_strings(db: Any, value: str) -> None:
    """B041."""
    others = ["1.1", "1", 1, 1.1, 100000, "100000", "2024123", 2024123, None, "NaN", "NAN"]
    stored = [{"version": value}, *({"version": other} for other in others)]
    assert await matched(db, {"version": value}, *stored) == [0]


async def test_in_finds_single_values_and_members(db: Any) -> None:
    """B043."""
    stored = [{"country": "Chad"}, {"country": "Japan"}, {"country": ["Peru", "Chad"]}, {}]
    assert await matched(db, {"country": {"in": ["Chad", "Japan"]}}, *stored) == [0, 1, 2]
    many = [*(f"c{n}" for n in range(500)), "Chad", "Japan"]
    assert await matched(db, {"country": {"in": many}}, *stored) == [0, 1, 2]


async def test_nothing_is_in_an_empty_list_and_the_empty_filter_matches_all(db: Any) -> None:
    """B045."""
    stored: list[dict[str, Any]] = [{"a": 1}, {}]
    assert await matched(db, {"a": {"in": []}}, *stored) == []
    assert await matched(db, {"a": {"nin": []}}, *stored) == [0, 1]
    assert await matched(db, {"@external_id": {"in": []}}, *stored) == []
    assert await matched(db, {}, *stored) == [0, 1]
    assert await matched(db, {"or": []}, *stored) == []


async def test_dots_enter_objects_but_never_arrays(db: Any) -> None:
    stored = [{"a": {"0": "x"}}, {"a": ["x"]}, {"a.0": "x"}, {"a": [{"0": "x"}]}]
    assert await matched(db, {"a.0": "x"}, *stored) == [0]
    assert await matched(db, {"a.0": {"exists": True}}, *stored) == [0]
    assert await matched(db, {r"a\.0": "x"}, *stored) == [2]


async def test_strings_sort_by_code_point(db: Any) -> None:
    stored = [{"d": "2024-01-31"}, {"d": "2024-02-01"}, {"d": "2023"}, {"d": 2025}]
    assert await matched(db, {"d": {"gte": "2024-02"}}, *stored) == [1]
    assert await matched(db, {"d": {"gt": "Z"}}, {"d": "a"}, {"d": "É"}, {"d": "A"}) == [0, 1]


async def test_user_text_never_becomes_sql(db: Any) -> None:
    """B037: names and values are parameters only."""
    hostile = "x'); DROP TABLE documents; --$1 \" \\' {} %s"
    node = parse_filter({hostile.replace(".", ""): {"eq": hostile, "contains": hostile}})
    assert "DROP" not in compile_filter(node, first=1).sql
    stored = [{hostile: hostile}, {hostile: "other"}]
    assert await matched(db, {hostile: {"contains": hostile}}, *stored) == [0]


def test_parameters_are_numbered_from_first() -> None:
    node = parse_filter({"a": 1, "b": {"gt": "x"}, "@title": "t"})
    condition = compile_filter(node, first=7)
    for number in range(7, 7 + len(condition.args)):
        assert f"${number}::" in condition.sql
    assert f"${7 + len(condition.args)}" not in condition.sql
    assert "$6" not in condition.sql


@pytest.mark.parametrize(
    "raw", [{"group": "g7"}, {"a": {"in": ["g7", "g8"]}}, {"tags": "g7"}, {"o.k": "g7"}]
)
async def test_equality_can_use_a_gin_index(db: Any, raw: dict[str, Any]) -> None:
    condition = compile_filter(parse_filter(raw), first=1)
    async with db.acquire() as connection, connection.transaction():
        await connection.execute(
            """
            CREATE TEMP TABLE sample (document_id bigint, metadata jsonb) ON COMMIT DROP;
            INSERT INTO sample SELECT n, jsonb_build_object('group', 'g' || n % 900,
                'a', 'g' || n % 900, 'tags', array['g' || n % 900],
                'o', jsonb_build_object('k', 'g' || n % 900)) FROM generate_series(1, 5000) n;
            CREATE INDEX ON sample USING gin (metadata);
            ANALYZE sample;
            """
        )
        sql = f"EXPLAIN SELECT 1 FROM sample c WHERE {condition.sql}"
        plan = "\n".join(row[0] for row in await connection.fetch(sql, *condition.args))
    assert "Bitmap Index Scan" in plan, plan


async def test_a_thousand_values_cost_a_hash_look_up(db: Any) -> None:
    condition = compile_filter(parse_filter({"a": {"in": [f"v{n}" for n in range(1000)]}}), first=1)
    sql = f"""
        WITH documents AS (SELECT 1), chunks AS MATERIALIZED (
            SELECT n AS document_id, jsonb_build_object('a', 'x' || n) AS metadata
            FROM generate_series(1, 20000) n)
        SELECT count(*) FROM chunks c WHERE {condition.sql}
    """
    async with db.acquire() as connection:
        await connection.execute("SET statement_timeout = '5s'")
        assert await connection.fetchval(sql, *condition.args) == 0
        await connection.execute("RESET statement_timeout")
