"""Native dialect: postings and collection statistics, kept up by triggers on ``chunks``.

A posting's key is ``hashtextextended(term, collection_id)``: no dictionary that writers could
wait for, and a search in one collection reads that collection's postings only. ``tf`` and ``dl``
are ``real``: exact for counts up to 2^24, as small as an integer, and multiplied with float8
without a cast, which is a quarter of a long query's time. See ``docs/adr/0007-native-bm25.md``.

Revision: native_0001
"""

from __future__ import annotations

from alembic import op

revision = "native_0001"
down_revision = None
branch_labels = ("native",)
depends_on = ("core_0001",)

POSTINGS = """
CREATE TABLE postings (
    term_key bigint NOT NULL,
    chunk_id bigint NOT NULL,
    tf real NOT NULL,
    dl real NOT NULL,
    PRIMARY KEY (term_key, chunk_id) INCLUDE (tf, dl)
) WITH (
    -- Searches are index-only scans: pages that no vacuum has seen cost a heap visit a posting.
    autovacuum_vacuum_insert_scale_factor = 0.02,
    autovacuum_vacuum_scale_factor = 0.02
)
"""

STATISTICS = """
CREATE TABLE lexical_statistics (
    collection_id bigint NOT NULL,
    chunks bigint NOT NULL,
    tokens bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.1)
"""
"""Deltas, one row a write and collection, summed when read and folded by upkeep. No foreign key:
the row that a deleted collection's cascade leaves sums to nothing and goes with the next fold."""

STATISTICS_INDEX = """
CREATE INDEX lexical_statistics_collection
    ON lexical_statistics (collection_id) INCLUDE (chunks, tokens)
"""

TERMS = """
CREATE FUNCTION lexical_terms(lexical_text text, collection_id bigint)
RETURNS TABLE (term_key bigint, tf real, dl real)
LANGUAGE sql STABLE PARALLEL SAFE ROWS 100
AS $$
    SELECT hashtextextended(t.term, $2), count(*)::real, (sum(count(*)) OVER ())::real
    FROM unnest(string_to_array($1, ' ')) AS t (term)
    GROUP BY 1
$$
"""
"""A single SELECT, so that Postgres inlines it; grouped by key, as two terms of one key would
otherwise break the primary key."""

LENGTH = """
CREATE FUNCTION lexical_length(lexical_text text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT cardinality(string_to_array($1, ' '))::bigint $$
"""

INSERTED = """
CREATE FUNCTION lexical_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO postings (term_key, chunk_id, tf, dl)
        SELECT t.term_key, n.id, t.tf, t.dl
        FROM new_chunks n CROSS JOIN LATERAL lexical_terms(n.lexical_text, n.collection_id) t
        ORDER BY 1, 2;
    INSERT INTO lexical_statistics (collection_id, chunks, tokens)
        SELECT n.collection_id, count(*), sum(lexical_length(n.lexical_text))
        FROM new_chunks n GROUP BY 1;
    RETURN NULL;
END $$
"""

DELETED = """
CREATE FUNCTION lexical_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM postings p
        USING (
            SELECT t.term_key, o.id
            FROM old_chunks o CROSS JOIN LATERAL lexical_terms(o.lexical_text, o.collection_id) t
            ORDER BY 1, 2
        ) gone
        WHERE p.term_key = gone.term_key AND p.chunk_id = gone.id;
    INSERT INTO lexical_statistics (collection_id, chunks, tokens)
        SELECT o.collection_id, -count(*), -sum(lexical_length(o.lexical_text))
        FROM old_chunks o GROUP BY 1;
    RETURN NULL;
END $$
"""

# EXCEPT instead of a join of old with new: never quadratic, whatever plan was cached.
UPDATED = """
CREATE FUNCTION lexical_updated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT id, lexical_text, collection_id FROM old_chunks
        EXCEPT SELECT id, lexical_text, collection_id FROM new_chunks
    ) THEN
        RETURN NULL;
    END IF;
    DELETE FROM postings p
        USING (
            SELECT t.term_key, o.id
            FROM (
                SELECT id, lexical_text, collection_id FROM old_chunks
                EXCEPT SELECT id, lexical_text, collection_id FROM new_chunks
            ) o
            CROSS JOIN LATERAL lexical_terms(o.lexical_text, o.collection_id) t
            ORDER BY 1, 2
        ) gone
        WHERE p.term_key = gone.term_key AND p.chunk_id = gone.id;
    INSERT INTO postings (term_key, chunk_id, tf, dl)
        SELECT t.term_key, n.id, t.tf, t.dl
        FROM (
            SELECT id, lexical_text, collection_id FROM new_chunks
            EXCEPT SELECT id, lexical_text, collection_id FROM old_chunks
        ) n
        CROSS JOIN LATERAL lexical_terms(n.lexical_text, n.collection_id) t
        ORDER BY 1, 2;
    INSERT INTO lexical_statistics (collection_id, chunks, tokens)
        SELECT moved.collection_id, sum(moved.chunks), sum(moved.tokens)
        FROM (
            SELECT n.collection_id, 1, lexical_length(n.lexical_text) FROM new_chunks n
            UNION ALL
            SELECT o.collection_id, -1, -lexical_length(o.lexical_text) FROM old_chunks o
        ) moved (collection_id, chunks, tokens)
        GROUP BY 1
        HAVING sum(moved.chunks) <> 0 OR sum(moved.tokens) <> 0;
    RETURN NULL;
END $$
"""

TRUNCATED = """
CREATE FUNCTION lexical_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    TRUNCATE postings, lexical_statistics;
    RETURN NULL;
END $$
"""

# A trigger's plan is made at its first run in a session, perhaps over an empty table, and kept:
# the settings leave the planner no way but index look-ups, which are right for any number of rows.
# The search path is pinned for restores, which run with an empty one.
PINS = tuple(
    f"ALTER FUNCTION lexical_{event}() SET {setting}"
    for event in ("inserted", "deleted", "updated", "truncated")
    for setting in (
        "search_path FROM CURRENT",
        "enable_hashjoin = off",
        "enable_mergejoin = off",
        "enable_seqscan = off",
    )
)

TRIGGERS = (
    """CREATE TRIGGER lexical_inserted AFTER INSERT ON chunks
        REFERENCING NEW TABLE AS new_chunks
        FOR EACH STATEMENT EXECUTE FUNCTION lexical_inserted()""",
    """CREATE TRIGGER lexical_deleted AFTER DELETE ON chunks
        REFERENCING OLD TABLE AS old_chunks
        FOR EACH STATEMENT EXECUTE FUNCTION lexical_deleted()""",
    """CREATE TRIGGER lexical_updated AFTER UPDATE ON chunks
        REFERENCING OLD TABLE AS old_chunks NEW TABLE AS new_chunks
        FOR EACH STATEMENT EXECUTE FUNCTION lexical_updated()""",
    """CREATE TRIGGER lexical_truncated AFTER TRUNCATE ON chunks
        FOR EACH STATEMENT EXECUTE FUNCTION lexical_truncated()""",
)

BACKFILL = (
    """INSERT INTO postings (term_key, chunk_id, tf, dl)
        SELECT t.term_key, c.id, t.tf, t.dl
        FROM chunks c CROSS JOIN LATERAL lexical_terms(c.lexical_text, c.collection_id) t
        ORDER BY 1, 2""",
    """INSERT INTO lexical_statistics (collection_id, chunks, tokens)
        SELECT c.collection_id, count(*), sum(lexical_length(c.lexical_text))
        FROM chunks c GROUP BY 1""",
)
"""Chunks that were there before this dialect was chosen."""

STATEMENTS = (
    POSTINGS,
    STATISTICS,
    STATISTICS_INDEX,
    TERMS,
    LENGTH,
    INSERTED,
    DELETED,
    UPDATED,
    TRUNCATED,
    *PINS,
    # Writers wait, so that no chunk falls between the backfill and the triggers.
    "LOCK TABLE chunks IN SHARE ROW EXCLUSIVE MODE",
    *BACKFILL,
    *TRIGGERS,
)


def upgrade() -> None:
    for statement in STATEMENTS:
        op.execute(statement)


def downgrade() -> None:
    for name in ("inserted", "deleted", "updated", "truncated"):
        op.execute(f"DROP TRIGGER lexical_{name} ON chunks")
        op.execute(f"DROP FUNCTION lexical_{name}()")
    op.execute("DROP TABLE postings, lexical_statistics")
    op.execute("DROP FUNCTION lexical_terms(text, bigint), lexical_length(text)")
