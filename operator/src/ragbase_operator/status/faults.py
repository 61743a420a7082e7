"""A fault: what is wrong with a child, and what the reader can do about it."""

from __future__ import annotations

from dataclasses import dataclass

from ragbase_operator.cluster.port import ClusterError, RefusedError
from ragbase_operator.status.reasons import Reason

__all__ = ["Fault", "clipped", "fault_of_error"]

MESSAGE_LIMIT = 1_000
"""Longest text taken over from elsewhere: a status is no log."""


@dataclass(frozen=True, slots=True)
class Fault:
    """``message`` names the object, says what is wrong and the next step."""

    reason: Reason
    message: str


def clipped(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """One line of at most ``limit`` characters; of a longer text, the end, where errors stand."""
    line = " ".join(text.split())
    return line if len(line) <= limit else "…" + line[-limit + 1 :]


def fault_of_error(error: ClusterError) -> Fault:
    """The fault that kept a child from being applied."""
    if not isinstance(error, RefusedError):
        return Fault(
            Reason.APPLY_FAILED,
            f"{clipped(str(error))}; tried again. If it stays: is the API server well?",
        )
    what, said = f"{error.ref.kind} {error.ref.name}", clipped(error.message)
    if "exceeded quota" in said:
        return Fault(
            Reason.QUOTA_EXCEEDED, f"{what}: {said}; raise the quota, or ask for less in the spec"
        )
    if error.ref.kind == "PersistentVolumeClaim" and (
        "resize" in said or "spec is immutable" in said
    ):
        return Fault(
            Reason.VOLUME_GROWTH,
            f"{what}: {said}; set allowVolumeExpansion on its StorageClass, or put the old size back",
        )
    if error.reason == "Forbidden":
        return Fault(
            Reason.APPLY_REFUSED, f"{what}: {said}; grant it to the operator, or change the policy"
        )
    return Fault(Reason.APPLY_REFUSED, f"{what}: {said}; mend the field of the spec it comes from")
