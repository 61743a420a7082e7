"""The projection of the graph into Memgraph or Neo4j, and who answers for the graph's shape."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from ragbase.settings.base import Section, env

__all__ = ["GraphStoreSettings"]


class GraphStoreSettings(Section):
    """The projection of the graph into Memgraph or Neo4j, and who answers for the graph's shape."""

    memgraph_url: str = Field(
        "",
        validation_alias=env("MEMGRAPH_URL"),
        description="bolt://host:port of a Memgraph or Neo4j that the graph is projected into; needs "
        "the extra `graph`. Unset: none.",
    )
    memgraph_enabled: bool = Field(
        True,
        validation_alias=env("MEMGRAPH_ENABLED"),
        description="false: MEMGRAPH_URL is not used.",
    )
    memgraph_username: str = Field(
        "", validation_alias=env("MEMGRAPH_USERNAME"), description="Unset: no authentication."
    )
    memgraph_password: SecretStr = Field(
        SecretStr(""), validation_alias=env("MEMGRAPH_PASSWORD"), description="Of that user."
    )
    graph_store: Literal["auto", "postgres", "bolt"] = Field(
        "auto",
        validation_alias=env("RAGBASE_GRAPH_STORE"),
        description="Who answers for neighbours, paths, communities and graph search: bolt, the "
        "projection; auto: the one that was measured to be faster. Postgres answers for one that is away.",
    )
    graph_store_timeout_s: float = Field(
        0.5,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_GRAPH_STORE_TIMEOUT"),
        description="Longest that a reading waits for the projection, in seconds; then Postgres answers.",
    )
    projection_timeout_s: float = Field(
        30.0,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_PROJECTION_TIMEOUT"),
        description="Longest that one batch of the projection may take, in seconds.",
    )

    @property
    def projected(self) -> bool:
        """Whether the graph is to be projected."""
        return bool(self.memgraph_url) and self.memgraph_enabled
