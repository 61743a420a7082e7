"""Alembic's entry: runs revisions on the connection that `ragbase.storage.migrations` hands over.

All pending revisions share one transaction: a start that is interrupted leaves nothing half done.
"""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
