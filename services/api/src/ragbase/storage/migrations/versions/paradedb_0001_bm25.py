"""Paradedb dialect: a BM25 index of pg_search over ``chunks``, and the guard that tells of crashes.

Revision: paradedb_0001
"""

from __future__ import annotations

from alembic import op

revision = "paradedb_0001"
down_revision = None
branch_labels = ("paradedb",)
depends_on = ("core_0001",)

STATEMENTS = (
    "CREATE EXTENSION IF NOT EXISTS pg_search",
    # The terms are ready-made and joined by spaces; see ragbase.text.analyse.
    """
    CREATE INDEX chunks_bm25 ON chunks
        USING bm25 (id, (lexical_text::pdb.whitespace), collection_id, document_id)
        WITH (key_field = 'id')
    """,
    # Crash recovery empties an unlogged table: while the row is there, the index can be trusted.
    "CREATE UNLOGGED TABLE bm25_guard (relid oid PRIMARY KEY)",
    "INSERT INTO bm25_guard (relid) VALUES ('chunks_bm25'::regclass)",
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    op.execute("DROP TABLE bm25_guard")
    op.execute("DROP INDEX chunks_bm25")
