"""Collections, documents, chunks and embeddings; takes over the tables of the original.

``documents`` and ``chunks`` keep the original's names and columns, so that its database can be
adopted in place and people's SQL goes on working; every statement therefore bears a table that
is already there. ``chunks.embedding`` of the original is emptied and dropped afterwards, in
batches, by `ragbase.storage.migrations.adopt`.
"""

from __future__ import annotations

from alembic import op

from ragbase.errors import ConfigurationError

revision = "core_0001"
down_revision = None
branch_labels = ("core",)
depends_on = None

TABLES = (
    """
    CREATE TABLE embedding_models (
        id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE,
        dimension integer NOT NULL CHECK (dimension BETWEEN 1 AND 16000),
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    CREATE TABLE collections (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,62}$'),
        language text NOT NULL DEFAULT 'english',
        fusion jsonb,
        chunking jsonb,
        embedding_model_id integer REFERENCES embedding_models,
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    "INSERT INTO collections (name) VALUES ('default')",
    """
    CREATE TABLE IF NOT EXISTS documents (
        id bigserial PRIMARY KEY,
        title text NOT NULL,
        content text NOT NULL,
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    ALTER TABLE documents
        ADD COLUMN collection_id bigint NOT NULL DEFAULT 1
            REFERENCES collections ON DELETE CASCADE,
        ADD COLUMN external_id text,
        ADD COLUMN content_hash bytea
    """,
    """
    CREATE TABLE IF NOT EXISTS chunks (
        id bigserial PRIMARY KEY,
        document_id bigint NOT NULL REFERENCES documents ON DELETE CASCADE,
        chunk_index integer NOT NULL,
        content text NOT NULL,
        indexed_content text NOT NULL,
        token_count integer NOT NULL DEFAULT 0,
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now()
    )
    """,
    """
    ALTER TABLE chunks
        ADD COLUMN collection_id bigint NOT NULL DEFAULT 1,
        ADD COLUMN start_offset integer,
        ADD COLUMN end_offset integer,
        ADD COLUMN lexical_text text NOT NULL DEFAULT ''
    """,
    # No fixed size: vectors of several models live here, each under its own partial index.
    """
    CREATE TABLE embeddings (
        chunk_id bigint NOT NULL REFERENCES chunks ON DELETE CASCADE,
        document_id bigint NOT NULL,
        collection_id bigint NOT NULL,
        model_id integer NOT NULL REFERENCES embedding_models,
        kind text NOT NULL DEFAULT 'content' CHECK (kind IN ('content', 'context')),
        embedding vector NOT NULL,
        PRIMARY KEY (chunk_id, model_id, kind)
    )
    """,
    # How far the adoption of an original database has come; empty otherwise.
    """
    CREATE TABLE adoption (
        position bigint NOT NULL DEFAULT 0,
        only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row)
    )
    """,
)

INDEXES = (
    "CREATE INDEX IF NOT EXISTS idx_documents_metadata ON documents USING gin (metadata)",
    """
    CREATE UNIQUE INDEX idx_documents_external_id ON documents (collection_id, external_id)
        WHERE external_id IS NOT NULL
    """,
    """
    CREATE INDEX idx_documents_content ON documents
        (collection_id, substring(content_hash FROM 1 FOR 16)) WHERE content_hash IS NOT NULL
    """,
    "CREATE INDEX idx_documents_created ON documents (created_at DESC, id DESC)",
    """
    CREATE INDEX idx_documents_collection ON documents (collection_id, created_at DESC, id DESC)
    """,
    "CREATE INDEX IF NOT EXISTS idx_chunks_document_id ON chunks (document_id)",
    "CREATE UNIQUE INDEX IF NOT EXISTS idx_chunks_doc_index ON chunks (document_id, chunk_index)",
    "CREATE INDEX idx_chunks_collection ON chunks (collection_id)",
    # Filters test chunks.metadata by containment; without it each reads every chunk.
    "CREATE INDEX idx_chunks_metadata ON chunks USING gin (metadata jsonb_path_ops)",
    "CREATE INDEX idx_embeddings_collection ON embeddings (model_id, collection_id)",
)

FRESHNESS = (
    """
    CREATE OR REPLACE FUNCTION set_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        NEW.updated_at := now();
        RETURN NEW;
    END $$
    """,
    """
    CREATE TRIGGER documents_updated_at BEFORE UPDATE ON documents
        FOR EACH ROW EXECUTE FUNCTION set_updated_at()
    """,
)

HAS_UPDATE_TRIGGER = """
    SELECT EXISTS (
        SELECT FROM pg_trigger WHERE tgrelid = 'documents'::regclass AND NOT tgisinternal
        AND tgtype & 19 = 19  -- row, before, update
    )
"""
OLD_INDEXES = """
    SELECT i.indexrelid::regclass::text FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE i.indrelid = 'chunks'::regclass AND a.amname IN ('bm25', 'hnsw', 'ivfflat')
"""
HAS_EMBEDDING = """
    SELECT EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = 'chunks'::regclass
        AND attname = 'embedding' AND NOT attisdropped
    )
"""


def upgrade() -> None:
    """Make what is missing, and note whether there is something to adopt."""
    connection = op.get_bind()
    for statement in (*TABLES, *INDEXES):
        op.execute(statement)
    if not connection.exec_driver_sql(HAS_UPDATE_TRIGGER).scalar_one():
        for statement in FRESHNESS:
            op.execute(statement)
    for name in connection.exec_driver_sql(OLD_INDEXES).scalars().all():
        op.execute(f"DROP INDEX {name}")
    if connection.exec_driver_sql(HAS_EMBEDDING).scalar_one():
        op.execute("INSERT INTO adoption DEFAULT VALUES")


def downgrade() -> None:
    """There is no way down from the first revision but to drop the database."""
    raise ConfigurationError("The first schema has no older one; restore a backup instead.")
