"""Wires the stores of the graph's shape, and what keeps the projection as the graph is."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, NamedTuple

from ragbase.errors import ConfigurationError
from ragbase.graph.bolt import BoltGraphStore
from ragbase.graph.bolt_write import BoltWriter
from ragbase.graph.communities import PostgresCommunities
from ragbase.graph.postgres import PostgresGraphStore
from ragbase.services.graph_stores import GraphStores, Projection
from ragbase.services.projection import Projector
from ragbase.services.projection_gauges import ProjectionGauges
from ragbase.services.projection_rebuild import ProjectionRebuild
from ragbase.settings import Settings
from ragbase.storage.pool import Database

if TYPE_CHECKING:
    from ragbase.graph.bolt_driver import Bolt

__all__ = ["OpenStores", "open_bolt", "open_stores"]

MISSING = (
    "MEMGRAPH_URL needs the extra `graph`: pip install 'ragbase[graph]'. Or leave MEMGRAPH_URL "
    "unset: Postgres answers for the graph."
)


class OpenStores(NamedTuple):
    """``projection`` and ``writer`` are None where the graph is not projected."""

    stores: GraphStores
    projection: Projection | None = None
    writer: BoltWriter | None = None

    def rebuild(self, database: Database) -> ProjectionRebuild | None:
        """What makes the projection anew; None where there is none."""
        return None if self.writer is None else ProjectionRebuild(database, self.writer)

    def project(self, settings: Settings, database: Database, stack: AsyncExitStack) -> None:
        """Begin to project, where the graph is to be; ends with the stack."""
        if self.writer is None:
            return
        projector = Projector(settings.database_url.get_secret_value(), self.writer)
        gauges = ProjectionGauges(database)
        for background in (projector, gauges):
            background.start()
            stack.push_async_callback(background.stop)


def open_stores(settings: Settings, database: Database, stack: AsyncExitStack) -> OpenStores:
    """The stores that the settings name. Raises `ConfigurationError`."""
    postgres = PostgresGraphStore(database, PostgresCommunities(database, settings.communities_max))
    if not settings.projected:
        return OpenStores(GraphStores(postgres))
    bolt = open_bolt(settings)
    stack.push_async_callback(bolt.close)
    writer = BoltWriter(bolt)
    projection = Projection(database, BoltGraphStore(bolt), writer)
    stores = GraphStores(postgres, projection, settings.graph_store)
    return OpenStores(stores, projection, writer)


def open_bolt(settings: Settings) -> Bolt:
    """A driver for MEMGRAPH_URL. Raises `ConfigurationError`, also where none is installed."""
    try:
        from ragbase.graph.bolt_driver import Bolt
    except ModuleNotFoundError as error:
        if error.name != "neo4j":
            raise
        raise ConfigurationError(MISSING) from None
    return Bolt.open(
        settings.memgraph_url,
        username=settings.memgraph_username,
        password=settings.memgraph_password.get_secret_value(),
        read_s=settings.graph_store_timeout_s,
        write_s=settings.projection_timeout_s,
    )
