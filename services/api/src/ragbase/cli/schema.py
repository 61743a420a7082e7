"""Migrates a database with the settings in force; shared by ``migrate`` and ``up``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from ragbase.storage.migrations import MigrationReport
from ragbase.storage.migrations import migrate as migrate_database
from ragbase.text.analyse import analyser

if TYPE_CHECKING:
    from ragbase.settings import Settings

__all__ = ["describe", "migration", "run_migration"]


async def migration(settings: Settings, dsn: str) -> MigrationReport:
    """Bring the schema of ``dsn`` up to date."""
    terms = analyser("english").terms  # the language of the collection `default`
    return await migrate_database(
        dsn,
        dialect=settings.lexical,
        analyse=lambda text: " ".join(terms(text)),
        hnsw_m=settings.hnsw_m,
        hnsw_ef_construction=settings.hnsw_ef_construction,
    )


def run_migration(settings: Settings, dsn: str) -> MigrationReport:
    """The same, to its end."""
    return asyncio.run(migration(settings, dsn))


def describe(report: MigrationReport) -> str:
    """What the migration did, in words."""
    if not report.changed:
        return f"Schema is up to date ({report.dialect})"
    if report.adopted is not None:
        return (
            f"Schema adopted from rag-base: {report.adopted.chunks:,} chunks, "
            f"{report.adopted.vectors:,} vectors ({report.dialect})"
        )
    return f"Schema {'updated' if report.before else 'created'} ({report.dialect})"
