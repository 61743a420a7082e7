"""Context lines: the line of each chunk, and which documents and collections want them.

``chunks.context`` is null where no line was made yet, "" where none fits. See
``docs/adr/0028-language-model.md``.

Revision: core_0006
"""

from __future__ import annotations

from alembic import op

revision = "core_0006"
down_revision = "core_0005"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE chunks ADD COLUMN context text",
    "ALTER TABLE documents ADD COLUMN contextual boolean NOT NULL DEFAULT false",
    "ALTER TABLE collections ADD COLUMN contextual_retrieval boolean NOT NULL DEFAULT false",
)


def upgrade() -> None:
    """Add the columns; nothing that is stored wants a line."""
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    """Remove them; lines stay in the index text of their chunks."""
    op.execute("ALTER TABLE collections DROP COLUMN contextual_retrieval")
    op.execute("ALTER TABLE documents DROP COLUMN contextual")
    op.execute("ALTER TABLE chunks DROP COLUMN context")
