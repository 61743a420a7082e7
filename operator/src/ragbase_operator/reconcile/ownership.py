"""Whose an object is that has the name of a child: one that is another's is never taken.

Server-side apply would take it: all RagBases have one field manager, so the owner reference that
one of them set is given up by the apply of another, and both would do so for ever.
"""

from __future__ import annotations

from ragbase_operator.builders.labels import FIELD_MANAGER, instance_of, owner_of
from ragbase_operator.builders.names import label_value
from ragbase_operator.cluster.port import NEVER
from ragbase_operator.models.manifest import Manifest, Ref
from ragbase_operator.models.objects import RagBase
from ragbase_operator.status.faults import Fault
from ragbase_operator.status.reasons import Reason

__all__ = ["fault_of_name", "on_version", "other_owner"]

_MANAGED_BY = "app.kubernetes.io/managed-by"


def other_owner(existing: Manifest, ragbase: RagBase) -> str | None:
    """Who has ``existing``: `RagBase docs`; None where ``ragbase`` may take it.

    What an earlier RagBase of the same name has left is taken: that is how retained data are found
    again. So is what nobody owns, such as a Secret that was made by hand.
    """
    for reference in existing["metadata"].get("ownerReferences") or []:
        earlier = (reference["kind"], reference["name"]) == ("RagBase", ragbase.name)
        if reference.get("controller") and reference["uid"] != ragbase.uid and not earlier:
            return f"{reference['kind']} {reference['name']}"
    labels = existing["metadata"].get("labels") or {}
    ours = labels.get(_MANAGED_BY) == FIELD_MANAGER and owner_of(existing) is not None
    instance = instance_of(existing)
    if ours and instance not in (None, label_value(ragbase.name)):
        return f"RagBase {instance}"
    if existing["kind"] == "Job" and not ours:
        return "somebody else"  # a Job cannot be taken, only deleted
    return None


def fault_of_name(ref: Ref, owner: str) -> Fault:
    """The fault of a child whose name is taken."""
    return Fault(
        Reason.NAME_TAKEN,
        f"{ref.kind} {ref.name} belongs to {owner} and is left to it; give one of the two another "
        "name (of the RagBase, or of its reranker), or put one of them in another namespace",
    )


def on_version(manifest: Manifest, existing: Manifest | None) -> Manifest:
    """``manifest``, to be applied only on ``existing`` as it was seen; None: only as a new object."""
    version = NEVER if existing is None else existing["metadata"]["resourceVersion"]
    return {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": version}}
