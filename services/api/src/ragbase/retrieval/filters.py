"""Compiles a filter into one SQL condition on a row ``c`` of ``chunks``.

User data becomes parameters, never text. Every leaf is true or false, never NULL, also where the
field is absent; ``IS NOT TRUE`` keeps negation right even where ``c.metadata`` itself is NULL.

Equality of scalars is JSONB containment, which a GIN index on ``chunks.metadata`` answers:
``{"k": v}`` is contained in exactly the rows whose ``k`` equals ``v`` and ``{"k": [v]}`` in exactly
those whose ``k`` is an array with the member ``v``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ragbase.models.filters import (
    And,
    Compare,
    DocumentField,
    Filter,
    MetadataPath,
    Not,
    Operator,
    Or,
)

__all__ = ["Condition", "compile_filter"]

CONTAINMENT_VALUES_MAX = 16
"""Up to so many scalars are tested by containment (two tests a value, indexable); more are looked
up in a hash table of values, which costs the same whatever their number."""

_SYMBOLS: dict[Operator, str] = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<=", "eq": "="}
_BIGINT = range(-(2**63), 2**63)
_BY_CODE_POINT = ' COLLATE "C"'
_COLUMNS: dict[DocumentField, tuple[str, str, str]] = {
    "@external_id": ("external_id", "text", _BY_CODE_POINT),
    "@title": ("title", "text", _BY_CODE_POINT),
    "@created_at": ("created_at", "timestamptz", ""),
}
"""Column of ``documents``, its type and the collation of its comparisons."""
_DOCUMENT = "(SELECT d.{column} FROM documents d WHERE d.id = c.document_id)"


@dataclass(frozen=True, slots=True)
class Condition:
    """A boolean SQL expression over ``c`` (a row of ``chunks``) and its parameters, in order."""

    sql: str
    args: list[Any]


def compile_filter(node: Filter, *, first: int) -> Condition:
    """Compile ``node``; its parameters are ``$first``, ``$first+1``, …

    The expression is never NULL as long as ``c.metadata`` is not.
    """
    compiler = _Compiler(first)
    return Condition(compiler.node(node), compiler.args)


@dataclass
class _Compiler:
    first: int
    args: list[Any] = field(default_factory=list)

    def bind(self, value: Any, kind: str) -> str:
        self.args.append(value)
        return f"${self.first + len(self.args) - 1}::{kind}"

    def json(self, value: Any) -> str:
        """Bound as text, so that it works whatever JSON codec the connection has."""
        return self.bind(_dumps(value), "text") + "::jsonb"

    def json_array(self, values: Sequence[Any]) -> str:
        return self.bind([_dumps(value) for value in values], "text[]") + "::jsonb[]"

    def node(self, node: Filter) -> str:
        if isinstance(node, And):
            return self.joined(node.nodes, " AND ", empty="TRUE")
        if isinstance(node, Or):
            return self.joined(node.nodes, " OR ", empty="FALSE")
        if isinstance(node, Not):
            return f"({self.node(node.node)}) IS NOT TRUE"
        if isinstance(node.field, MetadataPath):
            return self.metadata(node.field.keys, node)
        if node.field == "@id":
            return self.document_id(node)
        return self.document_value(node, *_COLUMNS[node.field])

    def joined(self, nodes: Sequence[Filter], word: str, *, empty: str) -> str:
        return "(" + word.join(self.node(node) for node in nodes) + ")" if nodes else empty

    # Metadata

    def metadata(self, keys: tuple[str, ...], node: Compare) -> str:
        if node.op == "eq":
            return self.equal_any(keys, (node.value,))
        if node.op == "in":
            return self.equal_any(keys, node.value)
        if node.op == "contains":
            return self.contains(keys, node.value)
        if node.op == "exists":
            present = "NOT NULL" if node.value else "NULL"
            return f"{self.at(keys)} IS {present}"
        return self.ordered(keys, _SYMBOLS[node.op], node.value)

    def at(self, keys: tuple[str, ...]) -> str:
        """The JSONB value at ``keys``; NULL where absent. ``->`` with text never enters arrays."""
        steps = "".join(f" -> {self.bind(key, 'text')}" for key in keys)
        return f"(c.metadata{steps})"

    def equal_any(self, keys: tuple[str, ...], values: Sequence[Any]) -> str:
        if not values:
            return "FALSE"
        scalars = not any(isinstance(value, list | dict) for value in values)
        if scalars and len(values) <= CONTAINMENT_VALUES_MAX:
            return self.contained(keys, [form for value in values for form in (value, [value])])
        wanted = self.json_array(values)
        value = self.at(keys)
        return f"COALESCE({value} = ANY({wanted}) OR {_member(value, f'ANY({wanted})')}, FALSE)"

    def contained(self, keys: tuple[str, ...], values: Sequence[Any]) -> str:
        objects = [_nested(keys, value) for value in values]
        if len(objects) == 1:
            return f"c.metadata @> {self.json(objects[0])}"
        return f"c.metadata @> ANY({self.json_array(objects)})"

    def contains(self, keys: tuple[str, ...], value: Any) -> str:
        if isinstance(value, list | dict):
            return _member(self.at(keys), self.json(value))
        member = self.contained(keys, [[value]])
        if not isinstance(value, str):
            return member
        found = self.at(keys)
        substring = f"strpos({found} #>> '{{}}', {self.bind(value, 'text')}) > 0"
        return f"({member} OR {_when(found, 'string', substring)})"

    def ordered(self, keys: tuple[str, ...], symbol: str, value: Any) -> str:
        if isinstance(value, str):
            found = self.at(keys)
            wanted = self.bind(value, "text")
            text = f"({found} #>> '{{}}'){_BY_CODE_POINT}"
            return _when(found, "string", f"{text} {symbol} {wanted}")
        if isinstance(value, int | float) and not isinstance(value, bool):
            found = self.at(keys)
            return _when(found, "number", f"{found} {symbol} {self.json(value)}")
        return "FALSE"

    # Document fields

    def document_id(self, node: Compare) -> str:
        if node.op == "exists":
            return "TRUE" if node.value else "FALSE"
        if node.op in ("eq", "in"):
            values = node.value if node.op == "in" else (node.value,)
            ids = [int(value) for value in values if value == int(value) and int(value) in _BIGINT]
            return f"c.document_id = ANY({self.bind(ids, 'bigint[]')})"
        wanted = self.bind(Decimal(node.value), "numeric")
        return f"c.document_id {_SYMBOLS[node.op]} {wanted}"

    def document_value(self, node: Compare, column: str, kind: str, collate: str) -> str:
        value = _DOCUMENT.format(column=column)
        if node.op == "exists":
            return f"{value} IS {'NOT NULL' if node.value else 'NULL'}"
        if node.op == "in":
            test = f"{value} = ANY({self.bind(list(node.value), f'{kind}[]')})"
        elif node.op == "contains":
            test = f"strpos({value}, {self.bind(node.value, kind)}) > 0"
        else:
            test = f"{value}{collate} {_SYMBOLS[node.op]} {self.bind(node.value, kind)}"
        return f"COALESCE({test}, FALSE)"


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _nested(keys: tuple[str, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _when(value: str, kind: str, test: str) -> str:
    """``test`` where ``value`` is of JSON type ``kind``, else false; CASE keeps the order."""
    return f"CASE WHEN jsonb_typeof({value}) = '{kind}' THEN {test} ELSE FALSE END"


def _member(value: str, wanted: str) -> str:
    """Whether an array at ``value`` has a member equal to ``wanted``; false for all else."""
    array = f"CASE jsonb_typeof({value}) WHEN 'array' THEN {value} END"
    return (
        f"EXISTS (SELECT FROM jsonb_array_elements({array}) AS m(value) WHERE m.value = {wanted})"
    )
