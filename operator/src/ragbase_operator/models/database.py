"""``spec.database``: ParadeDB managed here, a CloudNativePG cluster, or a database of one's own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragbase_operator.models.base import Part, Rule
from ragbase_operator.models.pods import Image, PodOverrides, Resources, SecretRef, Storage
from ragbase_operator.models.texts import Parameters

__all__ = ["Cnpg", "Database", "ExternalDatabase"]


class ExternalDatabase(Part):
    """A Postgres that somebody else runs, with the extension pgvector."""

    secret_ref: SecretRef = Field(description="Secret whose key `uri` is a postgresql:// URL.")


class Cnpg(Part):
    """A CloudNativePG Cluster; the CloudNativePG operator must be installed."""

    instances: int = Field(default=1, ge=1, le=9, description="Postgres servers: 1 and standbys.")
    image_name: str | None = Field(
        default=None,
        min_length=1,
        max_length=512,
        description="An operand image with pgvector. Left out: CloudNativePG's own default.",
    )
    postgresql_parameters: Parameters = Field(
        default_factory=dict, description="Settings of `spec.postgresql.parameters`."
    )


class Database(Part):
    """Where everything is stored."""

    mode: Literal["managed", "cnpg", "external"] = Field(
        default="managed",
        description="managed: a ParadeDB of one instance; cnpg: a CloudNativePG Cluster; external: "
        "a database that exists. Set once.",
    )
    lexical: Literal["auto", "paradedb", "native"] = Field(
        default="auto", description="Keyword dialect; auto: paradedb where pg_search is installed."
    )
    image: Image = Field(default_factory=Image, description="ParadeDB, mode managed.")
    storage: Storage = Field(
        default_factory=Storage, description="Volume of the data, of each instance in mode cnpg."
    )
    resources: Resources = Field(
        default_factory=lambda: Resources(
            requests={"cpu": "500m", "memory": "1Gi"}, limits={"memory": "2Gi"}
        ),
        description="Postgres is tuned from the memory limit and the CPUs.",
    )
    parameters: Parameters = Field(
        default_factory=dict, description="Postgres settings that win over ours, mode managed."
    )
    pod: PodOverrides = Field(
        default_factory=PodOverrides, description="Changes to the pod, mode managed."
    )
    cnpg: Cnpg = Field(default_factory=Cnpg, description="For mode cnpg.")
    external: ExternalDatabase | None = Field(
        default=None, description="For mode external, and only then."
    )
    rules = (
        Rule(
            "self.mode == oldSelf.mode",
            "the database mode is set once: back up, and restore into a new RagBase",
        ),
        Rule(
            "(self.mode == 'external') == has(self.external)",
            "give `external` with mode external, and only then",
        ),
        Rule(
            "self.mode != 'cnpg' || self.cnpg.instances == 1 || self.lexical != 'paradedb'",
            "pg_search does not replicate its index: use lexical native with more than one instance",
        ),
    )
