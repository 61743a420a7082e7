"""The rules of the operator's role: each verb is one that a request of it needs, and no wildcard.

The operator reads by list and watch, writes by server-side apply, and deletes. An apply is a
`patch`, and a `create` where the object was not there yet (k8s.io/apiserver, the patch handler).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

from ragbase_operator.builders.kinds import CHILD_KINDS, FOREIGN_KINDS, Kind
from ragbase_operator.models.kinds import GROUP, KINDS

__all__ = ["Rule", "plural", "rules"]

Rule: TypeAlias = dict[str, list[str]]
"""As rbac.authorization.k8s.io/v1 PolicyRule: apiGroups, resources, verbs."""

_CHILD_VERBS: Final = ("create", "delete", "list", "patch", "watch")
_OURS: Final = tuple(sorted(kind.plural for kind in KINDS))


def rules(*, namespaced: bool) -> list[Rule]:
    """The rules of a Role in each namespace that is looked after, or else of a ClusterRole.

    A namespaced operator cannot see CRDs; kinds of other operators that are installed later are
    then found at the next resync instead of at once.
    """
    found = [
        *_ours(),
        *_children(),
        _rule("", ["pods"], ["list", "watch"]),
        _rule("", ["events"], ["create", "list", "patch"]),
        _rule("coordination.k8s.io", ["leases"], ["create", "list", "patch", "watch"]),
    ]
    if not namespaced:
        crds = ["customresourcedefinitions"]
        found.append(_rule("apiextensions.k8s.io", crds, ["list", "watch"]))
    return found


def plural(kind: str) -> str:
    """The resource of a kind: `networkpolicies` of `NetworkPolicy`."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"


def _ours() -> list[Rule]:
    """Custom resources: the finalizer is a patch of the object, the status one of its own.

    Owner references that block the owner's deletion want the right to its finalizers, where the
    admission plugin OwnerReferencesPermissionEnforcement is on, as in OpenShift.
    """
    return [
        _rule(GROUP, _OURS, ["list", "patch", "watch"]),
        _rule(GROUP, [f"{name}/status" for name in _OURS], ["patch"]),
        _rule(GROUP, [f"{name}/finalizers" for name in _OURS], ["update"]),
    ]


def _children() -> list[Rule]:
    """One rule for each API group."""
    kinds = (*CHILD_KINDS, *FOREIGN_KINDS)
    return [
        _rule(
            group,
            sorted(plural(each.kind) for each in kinds if _group(each) == group),
            _CHILD_VERBS,
        )
        for group in dict.fromkeys(map(_group, kinds))
    ]


def _group(kind: Kind) -> str:
    return kind.api_version.rpartition("/")[0]


def _rule(group: str, resources: Iterable[str], verbs: Sequence[str]) -> Rule:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}
