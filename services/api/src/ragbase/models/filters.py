"""The filter language of searches and bulk deletes: JSON in, a typed frozen tree out.

    filter    := {} | {entry, …}                    several entries are joined by "and"
    entry     := "and": [filter, …] | "or": [filter, …] | "not": filter | name: condition
    condition := value                              short for {"eq": value}
               | {operator: operand, …}             several operators are joined by "and"
    name      := metadata key | "@id" | "@external_id" | "@title" | "@created_at"

Names. A dot goes into an object: ``a.b`` is key ``b`` of the object at key ``a``; arrays are never
entered. A backslash takes the meaning from a dot (or backslash) after it: ``a\\.b`` is the key
``a.b``. A leading ``metadata.`` is dropped, so ``metadata.and``, ``metadata.@id`` and
``metadata.metadata.x`` reach metadata keys that read like something else. The empty key cannot be
named.

Operators. ``eq`` compares JSON type and value (1 equals 1.0, not "1" and not true); on an array it
is also true when a member is equal. ``in`` is ``eq`` with any of the listed values, so nothing is in
``[]``. ``ne`` and ``nin`` are their exact negation: true where the field is absent. ``gt gte lt
lte`` compare number with number and string with string (by code point, so ISO dates sort) and are
false for everything else. ``contains`` is true for an array with an equal member and for a string
with that substring. ``exists`` asks whether the key is there, be its value null.

Document fields are typed: ``@id`` takes numbers, ``@external_id`` and ``@title`` strings,
``@created_at`` ISO 8601 dates and times (without zone: UTC; a date alone is its first instant).
A document without an external id has no ``@external_id``: ask with ``exists``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from ragbase.errors import InvalidInputError
from ragbase.limits import FILTER_CONDITIONS_MAX, FILTER_DEPTH_MAX, FILTER_VALUES_MAX
from ragbase.models.filter_values import clean_value, invalid_filter, read_instant

__all__ = [
    "MATCH_ALL",
    "And",
    "Compare",
    "DocumentField",
    "Filter",
    "MetadataPath",
    "Not",
    "Operator",
    "Or",
    "parse_filter",
]

Operator = Literal["eq", "in", "gt", "gte", "lt", "lte", "contains", "exists"]
"""What a `Compare` does; ``ne`` and ``nin`` are parsed into `Not`."""
DocumentField = Literal["@id", "@external_id", "@title", "@created_at"]

NAME_CHARS_MAX = 1000
NAME_KEYS_MAX = 16

_NEGATED: dict[str, Operator] = {"ne": "eq", "nin": "in"}
_OPERATORS: tuple[str, ...] = (*get_args(Operator), *_NEGATED)
_TEXT_ONLY = "contains"
_NAME_PART = re.compile(r"\\[.\\]|\.|[^.\\]+|\\")


@dataclass(frozen=True, slots=True)
class MetadataPath:
    """Keys from the metadata object inwards; at least one."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """One condition. ``value`` is cleaned JSON; a tuple of such for ``in``; bool for ``exists``.

    Values for ``@created_at`` are aware datetimes in UTC.
    """

    field: MetadataPath | DocumentField
    op: Operator
    value: Any


@dataclass(frozen=True, slots=True)
class And:
    """True when all nodes are; so true without nodes."""

    nodes: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """True when any node is; so false without nodes."""

    nodes: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """True when the node is not."""

    node: Filter


Filter: TypeAlias = And | Or | Not | Compare

MATCH_ALL = And(())
"""What ``{}`` is parsed into."""


def parse_filter(raw: object) -> Filter:
    """Check a filter as it came out of JSON and turn it into a tree.

    Raises `InvalidInputError` (code ``invalid_filter``) whose ``field`` is the path of the fault.
    """
    return _Parser().filter(raw, "filter", depth=0)


def _shown(name: str) -> str:
    """A user's name as it can stand in a message: short, printable, encodable."""
    printable = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in name[:60])
    return printable + ("…" if len(name) > len(printable) else "")


class _Parser:
    """Holds what is counted over the whole filter."""

    def __init__(self) -> None:
        self.conditions = 0
        self.values = 0

    def filter(self, raw: object, path: str, *, depth: int) -> Filter:
        if not isinstance(raw, Mapping):
            raise invalid_filter('write a filter as an object, such as {"year": 2024}', path)
        nodes: list[Filter] = []
        for name, operand in raw.items():
            nodes.append(self.entry(name, operand, f"{path}.{_shown(str(name))}", depth=depth))
        return nodes[0] if len(nodes) == 1 else And(tuple(nodes))

    def entry(self, name: object, operand: object, path: str, *, depth: int) -> Filter:
        if not isinstance(name, str):
            raise invalid_filter("names must be strings", path)
        if name == "not":
            return Not(self.filter(operand, path, depth=_deeper(depth, path)))
        if name in ("and", "or"):
            nodes = self.list_of_filters(name, operand, path, depth=_deeper(depth, path))
            return And(nodes) if name == "and" else Or(nodes)
        return self.condition(_field(name, path), operand, path)

    def list_of_filters(
        self, name: str, operand: object, path: str, *, depth: int
    ) -> tuple[Filter, ...]:
        if not isinstance(operand, list | tuple):
            raise invalid_filter(
                f'"{name}" takes an array of filters; for the metadata key of that name write '
                f'"metadata.{name}"',
                path,
            )
        if len(operand) > FILTER_CONDITIONS_MAX:
            raise _too_many_conditions(path)
        return tuple(
            self.filter(item, f"{path}[{index}]", depth=depth) for index, item in enumerate(operand)
        )

    def condition(self, field: MetadataPath | DocumentField, operand: object, path: str) -> Filter:
        if not isinstance(operand, Mapping):
            return self.compare(field, "eq", operand, path)
        if not operand:
            raise invalid_filter(
                'give an operator; to compare with an object write {"eq": {…}}', path
            )
        nodes: list[Filter] = []
        for name, value in operand.items():
            if name not in _OPERATORS:
                raise invalid_filter(
                    f'unknown operator "{_shown(str(name))}"; use one of {", ".join(_OPERATORS)}; '
                    'to compare with an object write {"eq": {…}}',
                    path,
                )
            nodes.append(self.compare(field, name, value, f"{path}.{name}"))
        return nodes[0] if len(nodes) == 1 else And(tuple(nodes))

    def compare(
        self, field: MetadataPath | DocumentField, name: str, operand: object, path: str
    ) -> Filter:
        self.conditions += 1
        if self.conditions > FILTER_CONDITIONS_MAX:
            raise _too_many_conditions(path)
        op = _NEGATED.get(name, cast(Operator, name))
        node = Compare(field, op, self.value(field, op, operand, path))
        return Not(node) if name in _NEGATED else node

    def value(
        self, field: MetadataPath | DocumentField, op: Operator, operand: object, path: str
    ) -> Any:
        if op == "exists":
            if not isinstance(operand, bool):
                raise invalid_filter("exists takes true or false", path)
            return operand
        if op == "in":
            return self.members(field, operand, path)
        if op == _TEXT_ONLY and field in ("@id", "@created_at"):
            raise invalid_filter(
                f"contains does not apply to {field}; use eq, in or gt, gte, lt, lte", path
            )
        return _operand(field, operand, path)

    def members(
        self, field: MetadataPath | DocumentField, operand: object, path: str
    ) -> tuple[Any, ...]:
        if not isinstance(operand, list | tuple):
            raise invalid_filter("in and nin take an array of values", path)
        self.values += len(operand)
        if self.values > FILTER_VALUES_MAX:
            raise invalid_filter(
                f"a filter may list {FILTER_VALUES_MAX} values for in and nin in all", path
            )
        return tuple(
            _operand(field, item, f"{path}[{index}]") for index, item in enumerate(operand)
        )


def _deeper(depth: int, path: str) -> int:
    if depth >= FILTER_DEPTH_MAX:
        raise invalid_filter(f"and, or and not may be nested {FILTER_DEPTH_MAX} deep", path)
    return depth + 1


def _too_many_conditions(path: str) -> InvalidInputError:
    return invalid_filter(
        f"a filter may have {FILTER_CONDITIONS_MAX} conditions; use in for alternatives", path
    )


def _field(name: str, path: str) -> MetadataPath | DocumentField:
    if len(name) > NAME_CHARS_MAX:
        raise invalid_filter(f"a name may have {NAME_CHARS_MAX} characters", path)
    if name.startswith("@"):
        if name not in get_args(DocumentField):
            raise invalid_filter(
                f"unknown document field; use one of {', '.join(get_args(DocumentField))}, or "
                'write "metadata." before a metadata key that starts with @',
                path,
            )
        return cast(DocumentField, name)
    keys = _keys(clean_value(name, path))
    if len(keys) > 1 and keys[0] == "metadata":
        keys = keys[1:]
    if "" in keys:
        raise invalid_filter("a key must not be empty; write \\. for a dot inside a key", path)
    if len(keys) > NAME_KEYS_MAX:
        raise invalid_filter(f"a name may go {NAME_KEYS_MAX} objects deep", path)
    return MetadataPath(keys)


def _keys(name: str) -> tuple[str, ...]:
    keys = [""]
    for part in _NAME_PART.findall(name):
        if part == ".":
            keys.append("")
        else:
            keys[-1] += part[1:] if part in (r"\.", r"\\") else part
    return tuple(keys)


def _operand(field: MetadataPath | DocumentField, operand: object, path: str) -> Any:
    if isinstance(field, MetadataPath):
        return clean_value(operand, path)
    if field == "@id":
        if isinstance(operand, bool) or not isinstance(operand, int | float):
            raise invalid_filter("@id takes numbers", path)
        return clean_value(operand, path)
    if not isinstance(operand, str):
        raise invalid_filter(
            f"{field} takes strings; for documents without one write "
            f'{{"{field}": {{"exists": false}}}}',
            path,
        )
    return read_instant(operand, path) if field == "@created_at" else clean_value(operand, path)
