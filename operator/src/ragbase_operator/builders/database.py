"""The database: run here, made by CloudNativePG, or somebody else's."""

from __future__ import annotations

from ragbase_operator.builders.cnpg import CLUSTER, cluster
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.paradedb import paradedb
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["database"]


def database(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """What the mode asks for; no Cluster where the cluster does not know that kind."""
    mode = ragbase.spec.database.mode
    if mode == "managed":
        return paradedb(ragbase, inputs)
    if mode == "cnpg" and CLUSTER.foreign_name in inputs.kinds:
        return [cluster(ragbase)]
    return []
