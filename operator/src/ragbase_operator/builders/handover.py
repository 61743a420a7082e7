"""Handing the number of replicas over to an autoscaler.

A field that server-side apply held alone and then leaves out goes back to its default: an API of five
pods would fall to one at the moment in which its autoscaler is switched on. So it is sent as it is
until somebody else holds it.
"""

from __future__ import annotations

from ragbase_operator.builders.labels import FIELD_MANAGER
from ragbase_operator.models.manifest import Manifest

__all__ = ["leave_replicas"]


def leave_replicas(desired: Manifest, observed: Manifest | None) -> Manifest:
    """``desired``, and where it gives up `replicas` that nobody else holds, these as observed.

    Then it has the observed resourceVersion, too: where they changed meanwhile, the apply is a
    conflict instead of an overwrite, and the next pass sees their new holder.
    """
    if observed is None or desired["kind"] != "Deployment" or "replicas" in desired["spec"]:
        return desired
    if _holders(observed) != {FIELD_MANAGER}:
        return desired
    version = observed["metadata"]["resourceVersion"]
    return {
        **desired,
        "metadata": {**desired["metadata"], "resourceVersion": version},
        "spec": {**desired["spec"], "replicas": observed["spec"]["replicas"]},
    }


def _holders(observed: Manifest) -> set[str]:
    """Managers of `spec.replicas`."""
    return {
        entry["manager"]
        for entry in observed["metadata"].get("managedFields") or ()
        if "f:replicas" in (entry.get("fieldsV1") or {}).get("f:spec", {})
    }
