"""A Cluster of CloudNativePG, whose operator must be installed."""

from __future__ import annotations

from typing import Any, Final

from ragbase_operator.builders import names
from ragbase_operator.builders.components import DATABASE, cluster_name
from ragbase_operator.builders.kinds import FOREIGN_KINDS
from ragbase_operator.builders.objects import child_object
from ragbase_operator.builders.pods import resource_fields
from ragbase_operator.builders.postgres_tuning import postgres_parameters
from ragbase_operator.builders.secrets import DATABASE_NAME
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase
from ragbase_operator.models.pods import Storage

__all__ = ["CLUSTER", "cluster"]

CLUSTER: Final = FOREIGN_KINDS[0]
_NOT_OURS: Final = frozenset({"shared_preload_libraries"})


def cluster(ragbase: RagBase) -> Manifest:
    """The Cluster, named as the Service of a database run here; it makes `-rw` and `-ro` itself.

    See https://cloudnative-pg.io/documentation/current/cloudnative-pg.v1/.
    """
    database = ragbase.spec.database
    spec: dict[str, Any] = {
        "instances": database.cnpg.instances,
        "storage": _storage(database.storage),
        "postgresql": _postgresql(ragbase),
        "bootstrap": {"initdb": _initdb(ragbase)},
        **({"resources": fields} if (fields := resource_fields(database.resources)) else {}),
    }
    if database.cnpg.image_name is not None:
        spec["imageName"] = database.cnpg.image_name
    if ragbase.spec.image_pull_secrets:
        spec["imagePullSecrets"] = [{"name": r.name} for r in ragbase.spec.image_pull_secrets]
    spec |= _placement(ragbase)
    return child_object(ragbase, CLUSTER, cluster_name(ragbase), DATABASE, {"spec": spec})


def _storage(storage: Storage) -> dict[str, str]:
    found = {"size": storage.size}
    if storage.storage_class_name is not None:
        found["storageClass"] = storage.storage_class_name
    return found


def _postgresql(ragbase: RagBase) -> dict[str, Any]:
    database = ragbase.spec.database
    parameters = {**postgres_parameters(database), **database.cnpg.postgresql_parameters}
    found: dict[str, Any] = {
        "parameters": {name: parameters[name] for name in sorted(parameters.keys() - _NOT_OURS)}
    }
    if database.lexical == "paradedb":
        found["shared_preload_libraries"] = ["pg_search"]
    return found


def _initdb(ragbase: RagBase) -> dict[str, Any]:
    """Extensions need a superuser, whom nobody else gets."""
    extensions = ["vector"]
    if ragbase.spec.database.lexical == "paradedb":
        extensions.append("pg_search")
    return {
        "database": DATABASE_NAME,
        "owner": DATABASE_NAME,
        "secret": {"name": names.database_secret(ragbase.name)},
        "postInitApplicationSQL": [f"CREATE EXTENSION IF NOT EXISTS {e}" for e in extensions],
    }


def _placement(ragbase: RagBase) -> dict[str, Any]:
    pod = ragbase.spec.database.pod
    affinity: dict[str, Any] = {}
    if pod.node_selector:
        affinity["nodeSelector"] = dict(pod.node_selector)
    if pod.tolerations:
        affinity["tolerations"] = [dict(each) for each in pod.tolerations]
    found: dict[str, Any] = {"affinity": affinity} if affinity else {}
    if pod.priority_class_name is not None:
        found["priorityClassName"] = pod.priority_class_name
    return found
