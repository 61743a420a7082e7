"""Which reranker is served where: several models may share one pod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragbase_operator.builders.components import host
from ragbase_operator.builders.environment import escaped, from_key
from ragbase_operator.builders.names import reranker_component
from ragbase_operator.builders.objects import canonical
from ragbase_operator.models.model_servers import Reranker
from ragbase_operator.models.objects import RagBase

__all__ = ["RerankerGroup", "reranker_env", "reranker_groups", "reranker_url"]


@dataclass(frozen=True, slots=True)
class RerankerGroup:
    """A pod's rerankers: the one whose pod it is, and those that share it."""

    leader: Reranker
    members: tuple[Reranker, ...]
    """The leader first."""

    @property
    def component(self) -> str:
        """The component of its pods."""
        return reranker_component(self.leader.name)


def reranker_groups(ragbase: RagBase) -> list[RerankerGroup]:
    """The pods of rerankers that are run here, in the order of the spec."""
    rerankers = ragbase.spec.rerankers
    return [
        RerankerGroup(leader, (leader, *(r for r in rerankers if r.share_with == leader.name)))
        for leader in rerankers
        if leader.external is None and leader.share_with is None
    ]


def reranker_url(ragbase: RagBase, reranker: Reranker) -> str:
    """Where the API reaches a reranker."""
    if reranker.external is not None:
        return reranker.external.url
    server = f"http://{host(ragbase, reranker_component(reranker.share_with or reranker.name))}"
    return f"{server}/models/{reranker.name}" if reranker.engine == "ragbase" else server


def reranker_env(ragbase: RagBase) -> list[dict[str, Any]]:
    """`RAGBASE_RERANKERS`, and before it the keys that it refers to.

    A key comes from its Secret into a variable of its own, and from there, when the pod starts,
    into the JSON: it is in no manifest.
    """
    keys: list[dict[str, Any]] = []
    entries: dict[str, dict[str, Any]] = {}
    for number, reranker in enumerate(ragbase.spec.rerankers):
        entry = _entry(ragbase, reranker)
        external = reranker.external
        if external is not None and external.api_key_secret_ref is not None:
            variable = f"RAGBASE_RERANKER_KEY_{number}"
            keys += from_key(variable, external.api_key_secret_ref)
            entry["api_key"] = f"$({variable})"
        entries[reranker.name] = entry
    return [*keys, {"name": "RAGBASE_RERANKERS", "value": canonical(entries)}] if entries else []


def _entry(ragbase: RagBase, reranker: Reranker) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "url": escaped(reranker_url(ragbase, reranker)),
        "timeout_s": reranker.timeout_seconds,
    }
    if reranker.external is None:
        entry |= {"model": reranker.model, "batch": reranker.max_client_batch_size}
    if reranker.fallback is not None:
        entry["fallback"] = reranker.fallback
    return entry
