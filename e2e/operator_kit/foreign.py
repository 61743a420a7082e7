"""CRDs of other operators, cut down to their names: what is made of them is only stored.

Names and versions are those of CloudNativePG 1.27 (config/crd/bases/postgresql.cnpg.io_clusters.yaml
of cloudnative-pg/cloudnative-pg) and of the Prometheus operator 0.85 (example/prometheus-operator-crd
of prometheus-operator/prometheus-operator). Neither operator runs.
"""

from __future__ import annotations

import time
from typing import Any

from e2e.cluster import ControlPlane
from ragbase_operator.builders.kinds import FOREIGN_KINDS, Kind
from ragbase_operator.rbac.rules import plural

__all__ = ["install_foreign_crds", "remove_foreign_crds"]

_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def install_foreign_crds(server: ControlPlane) -> None:
    """Create them and wait until their kinds are served."""
    for kind in FOREIGN_KINDS:
        server.request("POST", _PATH, _crd(kind))
    deadline = time.monotonic() + 30
    for kind in FOREIGN_KINDS:
        path = f"/apis/{kind.api_version}/{plural(kind.kind)}"
        while server.request("GET", path).status != 200:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{kind.kind} is not served")
            time.sleep(0.1)


def remove_foreign_crds(server: ControlPlane) -> None:
    """Delete them, and what was made of them."""
    for kind in FOREIGN_KINDS:
        server.request("DELETE", f"{_PATH}/{_crd(kind)['metadata']['name']}")


def _crd(kind: Kind) -> dict[str, Any]:
    group, _, version = kind.api_version.partition("/")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural(kind.kind)}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {
                "kind": kind.kind,
                "plural": plural(kind.kind),
                "singular": kind.kind.lower(),
            },
            "versions": [
                {
                    "name": version,
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                }
            ],
        },
    }
