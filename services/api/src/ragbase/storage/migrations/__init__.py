"""The schema's only source: alembic revisions, run by `migrate`, checked by `check_schema`."""

from ragbase.storage.migrations.run import MigrationReport, migrate
from ragbase.storage.migrations.state import SchemaState, check_schema

__all__ = ["MigrationReport", "SchemaState", "check_schema", "migrate"]
