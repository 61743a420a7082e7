"""A database of the original rag-base is taken over in place: every row and id stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from urllib.parse import urlsplit

import asyncpg
import numpy as np
import pytest

from ragbase.errors import ConfigurationError
from ragbase.storage import documents
from ragbase.storage.embedding_models import ensure_model
from ragbase.storage.migrations import adopt as adoption
from ragbase.storage.migrations import check_schema, migrate
from ragbase.storage.pool import Database

MODEL = "Snowflake/snowflake-arctic-embed-l-v2.0"

ORIGINAL = """
CREATE EXTENSION vector;
CREATE TABLE documents (
    id BIGSERIAL PRIMARY KEY,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    metadata JSONB NOT NULL DEFAULT '{}',
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
);
CREATE TABLE chunks (
    id BIGSERIAL PRIMARY KEY,
    document_id BIGINT NOT NULL REFERENCES documents(id) ON DELETE CASCADE,
    chunk_index INT NOT NULL,
    content TEXT NOT NULL,
    indexed_content TEXT NOT NULL,
    token_count INT NOT NULL DEFAULT 0,
    embedding vector(1024),
    metadata JSONB NOT NULL DEFAULT '{}',
    created_at TIMESTAMPTZ NOT NULL DEFAULT NOW()
);
CREATE INDEX idx_documents_metadata ON documents USING GIN (metadata);
CREATE INDEX idx_chunks_document_id ON chunks (document_id);
CREATE INDEX idx_chunks_embedding ON chunks USING hnsw (embedding vector_cosine_ops)
    WITH (m = 16, ef_construction = 64);
CREATE UNIQUE INDEX idx_chunks_doc_index ON chunks (document_id, chunk_index);
CREATE FUNCTION update_updated_at() RETURNS TRIGGER AS $$
BEGIN NEW.updated_at = NOW(); RETURN NEW; END; $$ LANGUAGE plpgsql;
CREATE TRIGGER documents_touch BEFORE UPDATE ON documents
    FOR EACH ROW EXECUTE FUNCTION update_updated_at();
"""
"""The original's tables and indexes, but for the one of pg_search."""

FILL = """
INSERT INTO documents (title, content, metadata, created_at, updated_at)
SELECT 'Title ' || n, 'Content ' || n, jsonb_build_object('n', n),
    timestamptz '2024-01-01' + n * interval '1 hour', timestamptz '2024-02-01'
FROM generate_series(1, 13) n;
DELETE FROM documents WHERE id = 7;
INSERT INTO chunks (document_id, chunk_index, content, indexed_content, token_count, embedding)
SELECT d.id, i, 'Chunk ' || i, 'Title ' || d.id || E'\\n\\nChunk ' || i, 2,
    CASE WHEN (d.id + i) % 10 > 0 THEN
        (SELECT array_agg(sin(d.id * 100 + i + k)) FROM generate_series(1, 1024) k)::vector
    END
FROM documents d, generate_series(0, 9) i;
"""
"""120 chunks of 12 documents, a tenth of them without vector."""


def words(text: str) -> str:
    """A stand-in for the analyser."""
    return " ".join(text.lower().split())


@pytest.fixture(scope="module")
async def filled(new_database: Callable) -> AsyncIterator[str]:
    """Name of a database as the original makes and fills it."""
    async with new_database("TEMPLATE template0") as url:
        connection = await asyncpg.connect(url)
        await connection.execute(ORIGINAL)
        await connection.execute(FILL)
        await connection.close()
        yield urlsplit(url).path.lstrip("/")


@pytest.fixture
async def original_url(new_database: Callable, filled: str) -> AsyncIterator[str]:
    """URL of a copy of `filled`."""
    async with new_database(f"TEMPLATE {filled} STRATEGY file_copy") as url:
        yield url


@pytest.fixture
async def original(original_url: str) -> AsyncIterator[asyncpg.Connection]:
    """A plain connection to `original_url`."""
    connection = await asyncpg.connect(original_url)
    yield connection
    await connection.close()


async def contract_rows(connection: asyncpg.Connection) -> tuple[list[asyncpg.Record], ...]:
    """What people may have read of the tables by their own SQL."""
    return (
        await connection.fetch(
            "SELECT id, title, content, metadata, created_at, updated_at FROM documents ORDER BY id"
        ),
        await connection.fetch(
            "SELECT id, document_id, chunk_index, content, indexed_content, token_count, created_at "
            "FROM chunks ORDER BY id"
        ),
    )


async def test_rows_ids_and_vectors_are_kept(
    original: asyncpg.Connection, original_url: str
) -> None:
    rows = await contract_rows(original)
    vectors = await original.fetch(
        "SELECT id, embedding::text FROM chunks WHERE embedding IS NOT NULL ORDER BY id"
    )
    report = await migrate(original_url, analyse=words)
    assert report.adopted == adoption.Adopted(120, len(vectors), MODEL)
    assert await contract_rows(original) == rows
    moved = await original.fetch(
        "SELECT chunk_id, embedding::text FROM embeddings WHERE kind = 'content' ORDER BY chunk_id"
    )
    assert [tuple(row) for row in moved] == [tuple(row) for row in vectors]
    assert (await check_schema(original)).status == "current"
    assert not (await migrate(original_url)).changed


async def test_what_the_original_lacks_is_filled_in(
    original: asyncpg.Connection, original_url: str
) -> None:
    await migrate(original_url, analyse=words)
    assert await original.fetchval(
        "SELECT bool_and(c.metadata = d.metadata AND c.collection_id = d.collection_id "
        "AND d.collection_id = 1 AND e.document_id IS NOT DISTINCT FROM "
        "CASE WHEN e.chunk_id IS NOT NULL THEN d.id END) FROM chunks c "
        "JOIN documents d ON d.id = c.document_id LEFT JOIN embeddings e ON e.chunk_id = c.id"
    )
    texts = await original.fetch("SELECT indexed_content, lexical_text FROM chunks")
    assert all(row[1] == words(row[0]) for row in texts)
    postings = await original.fetchval("SELECT count(*) FROM postings")
    terms = "SELECT sum((SELECT count(DISTINCT t) FROM regexp_split_to_table(lexical_text, ' ') t))"
    assert postings == await original.fetchval(f"{terms} FROM chunks")


async def test_old_indexes_and_the_old_column_go_and_the_trigger_stays(
    original: asyncpg.Connection, original_url: str
) -> None:
    await migrate(original_url, analyse=words, hnsw_m=8)
    indexes = await original.fetch("SELECT indexname FROM pg_indexes WHERE schemaname = 'public'")
    names = {row[0] for row in indexes}
    assert "idx_chunks_embedding" not in names
    assert {"idx_documents_metadata", "idx_chunks_document_id", "idx_chunks_doc_index"} <= names
    assert "idx_embeddings_hnsw_1" in names
    columns = await original.fetch(
        "SELECT column_name FROM information_schema.columns WHERE table_name = 'chunks'"
    )
    assert "embedding" not in {row[0] for row in columns}
    triggers = await original.fetch(
        "SELECT tgname FROM pg_trigger "
        "WHERE tgrelid = 'documents'::regclass AND NOT tgisinternal AND tgname ~ 'touch|updated'"
    )
    assert [row[0] for row in triggers] == ["documents_touch"]


async def test_the_adopted_database_serves_and_takes_documents(
    original: asyncpg.Connection, original_url: str, make_sample
) -> None:
    await migrate(original_url, analyse=words)
    highest = await original.fetchval("SELECT max(id) FROM documents")
    async with await Database.open(original_url) as db, db.transaction() as connection:
        model = await ensure_model(connection, MODEL, 1024)
        rows, total = await documents.list_documents(connection, offset=0, limit=1)
        assert (total, rows[0].id, rows[0].chunk_count) == (12, 13, 10)
        chunk = (await documents.list_chunks(connection, 13))[3]
        assert (chunk.content, chunk.start, chunk.end) == ("Chunk 3", None, None)
        query = np.sin(13 * 100 + 3 + np.arange(1, 1025))
        nearest = await connection.fetchval(
            "SELECT chunk_id FROM embeddings WHERE model_id = $1 AND kind = 'content' "
            "ORDER BY (embedding::vector(1024)) <=> $2::vector(1024) LIMIT 1",
            model.id,
            query,
        )
        assert nearest == chunk.id
        added = await documents.insert_document(connection, *make_sample(dimension=1024), model.id)
        assert added.id > highest


async def test_another_model_may_be_named_and_is_then_the_one_that_counts(
    original: asyncpg.Connection, original_url: str
) -> None:
    await migrate(original_url, analyse=words, adopt_model="other/model")
    async with await Database.open(original_url) as db, db.transaction() as connection:
        with pytest.raises(ConfigurationError, match="made by other/model"):
            await ensure_model(connection, MODEL, 1024)


async def test_an_interrupted_adoption_goes_on_where_it_stopped(
    original: asyncpg.Connection, original_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption, "_BATCH", 50)
    rows = await contract_rows(original)
    analysed: list[str] = []

    def breaks_down(text: str) -> str:
        if len(analysed) == 70:
            raise RuntimeError("power cut")
        analysed.append(text)
        return words(text)

    with pytest.raises(RuntimeError, match="power cut"):
        await migrate(original_url, analyse=breaks_down)
    assert (await check_schema(original)).status == "behind"
    report = await migrate(original_url, analyse=words)
    assert report.adopted is not None
    assert report.adopted.chunks == 120 - 50
    assert await contract_rows(original) == rows
    assert await original.fetchval("SELECT count(*) FROM embeddings") == 108
    assert await original.fetchval("SELECT count(*) FROM chunks WHERE lexical_text = ''") == 0
    assert (await check_schema(original)).status == "current"


async def test_an_empty_original_is_adopted_too(empty_database_url: str) -> None:
    connection = await asyncpg.connect(empty_database_url)
    try:
        await connection.execute(ORIGINAL)
        report = await migrate(empty_database_url, analyse=words)
        assert report.adopted == adoption.Adopted(0, 0, None)
        assert (await check_schema(connection)).status == "current"
        assert await connection.fetchval("SELECT count(*) FROM embedding_models") == 0
    finally:
        await connection.close()


async def test_adoption_needs_the_analyser(original: asyncpg.Connection, original_url: str) -> None:
    rows = await contract_rows(original)
    with pytest.raises(ConfigurationError, match="ragbase migrate"):
        await migrate(original_url)
    assert (await check_schema(original)).status == "behind"
    assert await contract_rows(original) == rows


async def test_a_role_that_does_not_own_the_tables_is_told_so(
    original: asyncpg.Connection, original_url: str
) -> None:
    role = f"guest_{urlsplit(original_url).path[-8:]}"
    await original.execute(
        f"CREATE ROLE {role} LOGIN PASSWORD 'guest'; GRANT ALL ON SCHEMA public TO {role};"
        f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}"
    )
    parts = urlsplit(original_url)
    host = parts.netloc.rpartition("@")[2]
    guest = parts._replace(netloc=f"{role}:guest@{host}").geturl()
    try:
        with pytest.raises(ConfigurationError, match=r"must be owner of .*tables' owner"):
            await migrate(guest, analyse=words)
        assert (await check_schema(original)).status == "empty"
        await original.execute(
            f"ALTER TABLE documents OWNER TO {role}; ALTER TABLE chunks OWNER TO {role}"
        )
        report = await migrate(guest, analyse=words)
        assert report.adopted is not None
        assert report.adopted.chunks == 120
    finally:
        await original.execute(f"REASSIGN OWNED BY {role} TO CURRENT_USER; DROP OWNED BY {role}")
        await original.execute(f"DROP ROLE {role}")
