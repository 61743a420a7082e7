"""What is wrong with a volume claim, read from the claim and the events about it."""

from __future__ import annotations

from collections.abc import Iterable

from ragbase_operator.models.manifest import Manifest
from ragbase_operator.status.faults import Fault, clipped
from ragbase_operator.status.reasons import Reason

__all__ = ["fault_of_claim"]


def fault_of_claim(claim: Manifest, events: Iterable[Manifest] = ()) -> Fault | None:
    """The fault of a claim; None where it is bound, or waits for its first pod as it should."""
    phase = (claim.get("status") or {}).get("phase")
    name = claim["metadata"]["name"]
    if phase == "Lost":
        return Fault(
            Reason.VOLUME_LOST,
            f"claim {name}: its volume is gone; restore a backup into a new RagBase",
        )
    if phase != "Pending":
        return None
    wanted = claim["spec"].get("storageClassName")
    if not wanted and wanted != "" and not claim["spec"].get("volumeName"):
        return Fault(
            Reason.NO_STORAGE_CLASS,
            f"claim {name}: the cluster has no default StorageClass; mark one as default, or make "
            "the RagBase anew with `storage.storageClassName`",
        )
    said = _warning(claim, events)
    if said is None:
        return None
    if "storageclass" in said.lower() and "not found" in said:
        return Fault(
            Reason.STORAGE_CLASS_ABSENT,
            f"claim {name}: {said}; create the StorageClass {wanted}: a claim's class is set once",
        )
    return Fault(Reason.VOLUME_PENDING, f"claim {name}: {said}; see `kubectl describe pvc {name}`")


def _warning(claim: Manifest, events: Iterable[Manifest]) -> str | None:
    """What the newest warning about the claim says; None where there is none."""
    uid = claim["metadata"].get("uid")
    about = [
        event
        for event in events
        if (event.get("involvedObject") or {}).get("uid") == uid
        and (event.get("type") == "Warning" or event.get("reason") == "FailedBinding")
    ]
    if not about:
        return None
    newest = max(
        about, key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or ""
    )
    return clipped(newest.get("message") or newest.get("reason") or "")
