"""What NetworkPolicies let through, computed as the API documents it.

A pod that no policy selects is open; one that some select lets through what any of them allows.
A connection needs the source's egress and the target's ingress.
https://kubernetes.io/docs/concepts/services-networking/network-policies/
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from typing import Any, NamedTuple

__all__ = ["Edge", "Pod", "edges"]


class Pod(NamedTuple):
    """Somebody who connects, or is connected to; an address stands for what is no pod."""

    name: str
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    address: str = ""


class Edge(NamedTuple):
    """An allowed connection."""

    source: str
    target: str
    port: int


def edges(policies: list[dict[str, Any]], pods: Iterable[Pod], ports: Iterable[int]) -> set[Edge]:
    """All that is allowed between different pods at these TCP ports."""
    everyone = list(pods)
    return {
        Edge(source.name, target.name, port)
        for source in everyone
        for target in everyone
        for port in ports
        if source != target
        and _lets(policies, "egress", source, target, port)
        and _lets(policies, "ingress", target, source, port)
    }


def _lets(policies: list[dict[str, Any]], side: str, pod: Pod, peer: Pod, port: int) -> bool:
    mine = [each for each in policies if _is_about(each, side, pod)]
    return not mine or any(
        _opens(rule, side, policy["metadata"]["namespace"], peer, port)
        for policy in mine
        for rule in policy["spec"].get(side) or []
    )


def _is_about(policy: dict[str, Any], side: str, pod: Pod) -> bool:
    return (
        not pod.address
        and policy["metadata"]["namespace"] == pod.namespace
        and side.capitalize() in policy["spec"]["policyTypes"]
        and _selects(policy["spec"]["podSelector"], dict(pod.labels))
    )


def _opens(rule: dict[str, Any], side: str, namespace: str, peer: Pod, port: int) -> bool:
    wanted = {each["port"] for each in rule.get("ports", ()) if each["protocol"] == "TCP"}
    peers = rule.get("from" if side == "ingress" else "to")
    # No list, or an empty one, is everybody.
    return port in wanted and (not peers or any(_is(each, namespace, peer) for each in peers))


def _is(described: dict[str, Any], namespace: str, peer: Pod) -> bool:
    if "ipBlock" in described:
        network = ip_network(described["ipBlock"]["cidr"])
        return bool(peer.address) and ip_address(peer.address) in network
    if peer.address:
        return False
    if "namespaceSelector" not in described:
        if peer.namespace != namespace:
            return False
    elif not _selects(
        described["namespaceSelector"], {"kubernetes.io/metadata.name": peer.namespace}
    ):
        return False
    return _selects(described.get("podSelector", {}), dict(peer.labels))


def _selects(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    if unknown := selector.keys() - {"matchLabels", "matchExpressions"}:
        raise ValueError(f"no selector has {unknown}")
    return selector.get("matchLabels", {}).items() <= labels.items() and all(
        _holds(each, labels) for each in selector.get("matchExpressions", ())
    )


def _holds(expression: dict[str, Any], labels: dict[str, str]) -> bool:
    if expression["operator"] != "In":
        raise ValueError(f"{expression['operator']} is not known here")
    return labels.get(expression["key"]) in expression["values"]
