"""The rules of all roles in the chart; the operator's own come from `ragbase_operator.rbac`."""

from __future__ import annotations

from collections.abc import Sequence

from ragbase_operator.models.kinds import GROUP, KINDS, RAGBASE
from ragbase_operator.rbac.rules import Rule, rules

__all__ = ["roles"]


def roles() -> dict[str, list[Rule]]:
    """Rules by role."""
    return {
        "operator-cluster": rules(namespaced=False),
        "operator-namespaced": rules(namespaced=True),
        # Before the release goes: list all custom resources, delete them, see them gone.
        "uninstall": _rules(("delete", "list")),
        # Aggregated into the cluster's own roles.
        "view": _rules(("get", "list", "watch"), ("get",)),
        "edit": [
            *_rules(("create", "delete", "deletecollection", "patch", "update")),
            _rule([f"{RAGBASE.plural}/scale"], ("get", "patch", "update")),
        ],
    }


def _rules(verbs: Sequence[str], of_status: Sequence[str] = ()) -> list[Rule]:
    names = sorted(kind.plural for kind in KINDS)
    found = [_rule(names, verbs)]
    if of_status:
        found.append(_rule([f"{name}/status" for name in names], of_status))
    return found


def _rule(resources: Sequence[str], verbs: Sequence[str]) -> Rule:
    return {"apiGroups": [GROUP], "resources": list(resources), "verbs": list(verbs)}
