"""When a document's version was accepted: a queued one must not replace one accepted after it."""

from __future__ import annotations

from alembic import op

revision = "core_0004"
down_revision = "core_0003"
branch_labels = None
depends_on = None

COLUMN = "ALTER TABLE documents ADD COLUMN accepted_at timestamptz NOT NULL DEFAULT now()"
# Noting that the stored version was asked for again is no change of the document. Databases that
# were taken over may have a trigger of their own, which stays.
TRIGGER = """
    DO $$
    BEGIN
        IF EXISTS (
            SELECT FROM pg_trigger
            WHERE tgrelid = 'documents'::regclass AND tgname = 'documents_updated_at'
        ) THEN
            CREATE OR REPLACE TRIGGER documents_updated_at BEFORE UPDATE ON documents
                FOR EACH ROW WHEN (OLD.accepted_at = NEW.accepted_at)
                EXECUTE FUNCTION set_updated_at();
        END IF;
    END $$
"""


def upgrade() -> None:
    """Add the column."""
    op.execute(COLUMN)
    op.execute(TRIGGER)


def downgrade() -> None:
    """Remove it."""
    op.execute(TRIGGER.replace("WHEN (OLD.accepted_at = NEW.accepted_at)", ""))
    op.execute("ALTER TABLE documents DROP COLUMN accepted_at")
