"""The second API's files as its original had them: the view ``dataset``; an index for contexts.

A chunk without a context of its own has no vector of kind ``context`` either: the view, like the
search, then takes the content for both. A table ``dataset`` of an original localRAG database is
kept under the name ``dataset_original``. See ``docs/adr/0034-local-rag.md``.

Revision: core_0007
"""

from __future__ import annotations

from alembic import op

revision = "core_0007"
down_revision = "core_0006"
branch_labels = None
depends_on = None

ORIGINAL = "SELECT relkind FROM pg_class WHERE oid = to_regclass('dataset')"

# Few vectors are contexts: found, or found missing, without a look at all the others.
INDEX = """
    CREATE INDEX idx_embeddings_context ON embeddings (model_id, collection_id)
        WHERE kind = 'context'
"""

VIEW = """
    CREATE VIEW dataset AS
    SELECT c.id, d.external_id AS file_id, d.metadata ->> 'folder_id' AS folder_id,
        coalesce(nullif(c.context, ''), c.content) AS context,
        coalesce(x.embedding, e.embedding) AS context_embedding,
        c.content, e.embedding AS content_embedding
    FROM collections k
    JOIN documents d ON d.collection_id = k.id
    JOIN chunks c ON c.document_id = d.id
    LEFT JOIN embeddings e
        ON e.chunk_id = c.id AND e.model_id = k.embedding_model_id AND e.kind = 'content'
    LEFT JOIN embeddings x
        ON x.chunk_id = c.id AND x.model_id = k.embedding_model_id AND x.kind = 'context'
    WHERE k.name = 'localrag'
"""


def upgrade() -> None:
    """Make both; nothing that is stored changes."""
    if op.get_bind().exec_driver_sql(ORIGINAL).scalar() is not None:
        op.execute("ALTER TABLE dataset RENAME TO dataset_original")
    op.execute(INDEX)
    op.execute(VIEW)


def downgrade() -> None:
    """Remove both; files of the second API stay documents of the collection ``localrag``."""
    op.execute("DROP VIEW dataset")
    op.execute("DROP INDEX idx_embeddings_context")
