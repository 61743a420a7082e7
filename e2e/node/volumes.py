"""Local volumes made beforehand: the node has no provisioner."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from e2e.node.addresses import NODE_NAME

__all__ = ["local_volumes"]

VOLUMES = 40
"""A released volume is not bound again: enough for all scenarios of a run."""

SIZE = "20Gi"
"""What a volume claims to hold; nothing limits it."""


def local_volumes(folder: Path) -> Iterator[dict[str, Any]]:
    """PersistentVolumes of the StorageClass `local`, each an empty folder."""
    here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [NODE_NAME]}
    terms = [{"matchExpressions": [here]}]
    for number in range(VOLUMES):
        path = folder / f"volume-{number}"
        path.mkdir(parents=True)
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": path.name},
            "spec": {
                "capacity": {"storage": SIZE},
                "accessModes": ["ReadWriteOnce"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "local",
                "local": {"path": str(path)},
                "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
            },
        }
