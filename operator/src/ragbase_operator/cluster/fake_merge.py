"""Server-side apply on JSON: what an apply sets, and what it gives up.

After the merge and the list types of sigs.k8s.io/structured-merge-diff and the Kubernetes API's
``x-kubernetes-list-type`` marks. Only what one manager held matters here: ``held`` is its last
applied object, less what others have changed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["merge", "still_held"]

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


def merge(live: Any, held: Any, wished: Any, field: str = "") -> Any:
    """``live`` after an apply of ``wished`` by a manager that held ``held``; a new value."""
    if isinstance(wished, dict):
        return merge_maps(as_map(live), as_map(held), wished)
    if isinstance(wished, list) and field in LIST_KEYS:
        return list(merge_maps(*(by_key(each, field) for each in (live, held, wished))).values())
    if isinstance(wished, list) and field in SETS:
        others = [each for each in live or [] if each not in (held or [])]
        return [*wished, *(each for each in others if each not in wished)]
    return wished


def merge_maps(
    live: Mapping[Any, Any], held: Mapping[Any, Any], wished: Mapping[Any, Any]
) -> dict[Any, Any]:
    """`merge` of the members; those that are held and no longer wished are given up."""
    merged = {
        key: merge(live.get(key), held.get(key), value, field_of(key))
        for key, value in wished.items()
    }
    for key, value in live.items():
        if key not in wished:
            rest = give_up(value, held[key], field_of(key)) if key in held else value
            if rest is not None:
                merged[key] = rest
    return merged


def give_up(live: Any, held: Any, field: str) -> Any:
    """What others keep of a value; None where nothing is left."""
    if isinstance(held, dict) and isinstance(live, dict):
        rest = merge_maps(live, held, {})
        return rest or None
    if isinstance(held, list) and isinstance(live, list):
        if field in LIST_KEYS:
            kept = merge_maps(by_key(live, field), by_key(held, field), {})
            return list(kept.values()) or None
        if field in SETS:
            return [each for each in live if each not in held] or None
    return None


def still_held(held: Any, live: Any, field: str = "") -> Any:
    """The part of ``held`` whose values stand in ``live`` still; None where none does.

    A writer that changes a field takes it over from us.
    """
    if isinstance(held, dict) and isinstance(live, dict):
        return held_members(held, live) if held else {}
    if isinstance(held, list) and isinstance(live, list) and field in LIST_KEYS:
        return list(held_members(by_key(held, field), by_key(live, field)).values())
    return held if held == live else None


def held_members(held: Mapping[Any, Any], live: Mapping[Any, Any]) -> dict[Any, Any]:
    """`still_held` of the members."""
    found = {
        key: still_held(value, live[key], field_of(key))
        for key, value in held.items()
        if key in live
    }
    return {key: value for key, value in found.items() if value is not None}


def by_key(items: Sequence[Mapping[str, Any]] | None, field: str) -> dict[Any, Any]:
    """Items of a list that is a map."""
    names = LIST_KEYS[field]
    return {tuple(each.get(n, KEY_DEFAULTS.get(n)) for n in names): each for each in items or []}


def field_of(key: Any) -> str:
    """The name of a field; "" for the key of a list's item."""
    return key if isinstance(key, str) else ""


def as_map(value: Any) -> Mapping[Any, Any]:
    """The value, or an empty map where it is none."""
    return value if isinstance(value, dict) else {}
