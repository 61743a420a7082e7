"""Environment variables of containers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragbase_operator.models.pods import SecretKey

__all__ = ["escaped", "from_key", "from_secret", "merged", "plain"]


def plain(values: Mapping[str, str]) -> list[dict[str, Any]]:
    """Variables with their values."""
    return [{"name": name, "value": value} for name, value in values.items()]


def from_secret(name: str, secret: str, key: str) -> dict[str, Any]:
    """A variable that is read from a Secret when the pod starts."""
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}}


def from_key(name: str, ref: SecretKey | None) -> list[dict[str, Any]]:
    """A variable from the key of a Secret that the spec names; none where it names none."""
    return [] if ref is None else [from_secret(name, ref.name, ref.key)]


def escaped(value: str) -> str:
    """``value`` as it stands: Kubernetes would replace ``$(NAME)`` in it by another variable."""
    return value.replace("$", "$$")


def merged(
    ours: Sequence[Mapping[str, Any]], theirs: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Ours, then theirs; a name that both have is theirs."""
    named = {entry.get("name") for entry in theirs}
    return [dict(entry) for entry in ours if entry["name"] not in named] + [
        dict(entry) for entry in theirs
    ]
