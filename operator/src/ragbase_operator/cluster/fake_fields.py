"""Objects as flat fields, and who holds which: what server-side apply decides by.

After the field sets of sigs.k8s.io/structured-merge-diff and the ``x-kubernetes-list-type`` marks
of the Kubernetes API. A list that is a map holds its items by key, and each item's existence is a
field of its own: who made an item takes it away with all that others wrote into it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

__all__ = ["Fields", "Holders", "flatten", "unflatten"]

Fields: TypeAlias = dict[tuple[Any, ...], Any]
"""Path to value; atomic lists and empty maps are values."""

LIST_KEYS: Mapping[str, tuple[str, ...]] = {
    "conditions": ("type",),
    "containers": ("name",),
    "env": ("name",),
    "hostAliases": ("ip",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "ownerReferences": ("uid",),
    "ports": ("containerPort", "port", "protocol"),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
"""Lists that are maps, and what tells their items apart; all others are atoms, or sets."""

SETS = frozenset({"finalizers"})

KEY_DEFAULTS = {"protocol": "TCP"}


class Item(NamedTuple):
    """An item of a list that is a map, in a path."""

    key: tuple[Any, ...]


class Member(NamedTuple):
    """A member of a list that is a set, in a path."""

    value: Any


EXISTS = Item(())
"""Ends the path of an item's existence."""


def flatten(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Paths and values of an object."""
    name = str(path[-1]) if path else ""
    if isinstance(value, dict) and value:
        for key, member in value.items():
            yield from flatten(member, (*path, key))
    elif isinstance(value, list) and name in LIST_KEYS:
        for item in value:
            at = (*path, item_of(item, LIST_KEYS[name]))
            yield (*at, EXISTS), None
            yield from flatten(item, at)
    elif isinstance(value, list) and name in SETS:
        for member in value:
            yield (*path, Member(member)), member
    elif path:
        yield path, value


def item_of(item: Mapping[str, Any], names: tuple[str, ...]) -> Item:
    """The key of an item."""
    return Item(tuple(item.get(name, KEY_DEFAULTS.get(name)) for name in names))


def unflatten(fields: Fields) -> dict[str, Any]:
    """The object of these fields."""
    tree: dict[Any, Any] = {}
    for path, value in fields.items():
        node = tree
        for key in path[:-1]:
            node = node.setdefault(key, {})
        if value == {}:
            node.setdefault(path[-1], {})
        elif path[-1] != EXISTS:
            node[path[-1]] = value
    found: dict[str, Any] = with_lists(tree)
    return found


def with_lists(node: Any) -> Any:
    """A tree whose items and members have become lists."""
    if not isinstance(node, dict):
        return node
    values = [with_lists(value) for value in node.values()]
    if node and all(isinstance(key, (Item, Member)) for key in node):
        return values
    return dict(zip(node, values, strict=True))


@dataclass(slots=True)
class Holders:
    """Who holds the fields of one object: we, and all others together."""

    ours: set[tuple[Any, ...]] = field(default_factory=set)
    theirs: set[tuple[Any, ...]] = field(default_factory=set)

    def apply(self, live: Fields, wished: Fields) -> Fields:
        """Our apply with force: fields that it sets, and those that it gives up.

        What others hold too stays when we leave it; what they hold with another value is ours now.
        """
        dropped = self.ours - wished.keys() - self.theirs
        items = {path[:-1] for path in dropped if path[-1] == EXISTS}
        kept = {
            path: value
            for path, value in live.items()
            if path not in dropped and not any(path[: len(item)] == item for item in items)
        }
        self.ours = set(wished)
        self.theirs = {
            path
            for path in self.theirs & kept.keys()
            if path not in wished or wished[path] == kept[path]
        }
        return {**kept, **wished}

    def edit(self, before: Fields, after: Fields) -> None:
        """An update by others: what they change or remove is no longer ours."""
        changed = {path for path, value in after.items() if before.get(path, ...) != value}
        self.ours -= changed | (before.keys() - after.keys())
        self.theirs = (self.theirs & after.keys()) | changed
