"""The entry: all children of a RagBase."""

from __future__ import annotations

from ragbase_operator.builders.api import api, workers
from ragbase_operator.builders.database import database
from ragbase_operator.builders.ingress import ingress
from ragbase_operator.builders.inputs import Inputs
from ragbase_operator.builders.jobs import backup_schedule, migration
from ragbase_operator.builders.localrag import localrag
from ragbase_operator.builders.memgraph import memgraph
from ragbase_operator.builders.models import model_servers
from ragbase_operator.builders.monitoring import monitoring
from ragbase_operator.builders.network_policies import network_policies
from ragbase_operator.builders.secrets import secrets
from ragbase_operator.builders.settings import config_map
from ragbase_operator.models.manifest import Manifest
from ragbase_operator.models.objects import RagBase

__all__ = ["build"]


def build(ragbase: RagBase, inputs: Inputs) -> list[Manifest]:
    """Manifests of all children, in the order in which they are applied.

    The same arguments give the same bytes. Volumes are claims of their own among them (no claim
    templates), so a larger size is applied like any other field. Raises `KeyError` where `fresh`
    lacks a value that no Secret has yet.
    """
    return [
        *network_policies(ragbase, inputs),
        *secrets(ragbase, inputs),
        config_map(ragbase),
        *database(ragbase, inputs),
        migration(ragbase, inputs),
        *model_servers(ragbase, inputs),
        *memgraph(ragbase, inputs),
        *api(ragbase, inputs),
        *workers(ragbase, inputs),
        *localrag(ragbase, inputs),
        *ingress(ragbase),
        *backup_schedule(ragbase, inputs),
        *monitoring(ragbase, inputs),
    ]
