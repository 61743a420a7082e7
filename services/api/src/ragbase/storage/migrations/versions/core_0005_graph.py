"""The entity graph: entities, what chunks say of them, concepts, and cached LLM answers.

``mentions`` and ``relation_mentions`` are contributions of chunks and go with them, by cascade.
Triggers then remove the relations and entities that nothing supports any more, in the same
transaction, and derive type and description of the others anew from what is left; so no way of
deleting, plain SQL included, leaves anything over. See ``docs/adr/0029-extraction.md``.

Revision: core_0005
"""

from __future__ import annotations

from alembic import op

revision = "core_0005"
down_revision = "core_0004"
branch_labels = None
depends_on = None

ENTITIES = """
    CREATE TABLE entities (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
        normal_name text NOT NULL CHECK (normal_name <> ''),
        name text NOT NULL,
        type text NOT NULL DEFAULT 'unknown',
        description text NOT NULL DEFAULT '',
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (collection_id, normal_name)
    )
"""

# source: 'user' (a rename or merge; new mentions of the name go to the entity) or 'extracted'
# (only for finding the entity by another name; may be ambiguous).
ALIASES = """
    CREATE TABLE entity_aliases (
        collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
        normal_alias text NOT NULL CHECK (normal_alias <> ''),
        entity_id bigint NOT NULL REFERENCES entities ON DELETE CASCADE,
        source text NOT NULL DEFAULT 'extracted' CHECK (source IN ('extracted', 'user')),
        PRIMARY KEY (collection_id, normal_alias, entity_id)
    )
"""

MENTIONS = """
    CREATE TABLE mentions (
        chunk_id bigint NOT NULL REFERENCES chunks ON DELETE CASCADE,
        entity_id bigint NOT NULL REFERENCES entities ON DELETE CASCADE,
        document_id bigint NOT NULL,
        collection_id bigint NOT NULL,
        type text NOT NULL DEFAULT 'unknown',
        description text NOT NULL DEFAULT '',
        PRIMARY KEY (chunk_id, entity_id)
    )
"""

RELATIONS = """
    CREATE TABLE relations (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
        source_id bigint NOT NULL REFERENCES entities ON DELETE CASCADE,
        target_id bigint NOT NULL REFERENCES entities ON DELETE CASCADE,
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (source_id, target_id),
        CHECK (source_id <> target_id)
    )
"""

RELATION_MENTIONS = """
    CREATE TABLE relation_mentions (
        relation_id bigint NOT NULL REFERENCES relations ON DELETE CASCADE,
        chunk_id bigint NOT NULL REFERENCES chunks ON DELETE CASCADE,
        keywords text NOT NULL DEFAULT '',
        description text NOT NULL DEFAULT '',
        weight real NOT NULL DEFAULT 1,
        PRIMARY KEY (chunk_id, relation_id)
    )
"""

CONCEPTS = """
    CREATE TABLE concepts (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection_id bigint NOT NULL REFERENCES collections ON DELETE CASCADE,
        name text NOT NULL,
        type text NOT NULL DEFAULT 'Entity',
        description text NOT NULL DEFAULT '',
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (collection_id, name)
    )
"""

CONCEPT_RELATIONS = """
    CREATE TABLE concept_relations (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        source_id bigint NOT NULL REFERENCES concepts ON DELETE CASCADE,
        target_id bigint NOT NULL REFERENCES concepts ON DELETE CASCADE,
        type text NOT NULL,
        metadata jsonb NOT NULL DEFAULT '{}',
        created_at timestamptz NOT NULL DEFAULT now(),
        UNIQUE (source_id, type, target_id)
    )
"""

# Which documents, as they stand, are in the graph; a new version begins without a row.
GRAPHED = """
    CREATE TABLE graphed_documents (
        document_id bigint PRIMARY KEY REFERENCES documents ON DELETE CASCADE,
        extractor text NOT NULL,
        extracted_at timestamptz NOT NULL DEFAULT now()
    )
"""

# Answers of models by the hash of all that was asked. They quote documents, so they go with them.
EXTRACTIONS = """
    CREATE TABLE extractions (
        key bytea PRIMARY KEY,
        purpose text NOT NULL,
        document_id bigint REFERENCES documents ON DELETE CASCADE,
        result jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    )
"""

# Outbox of the projection. No foreign key: what was deleted must be told of too.
CHANGES = """
    CREATE TABLE graph_changes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection_id bigint NOT NULL,
        kind text NOT NULL,
        key bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    )
"""

TABLES = (
    ENTITIES,
    ALIASES,
    MENTIONS,
    RELATIONS,
    RELATION_MENTIONS,
    CONCEPTS,
    CONCEPT_RELATIONS,
    GRAPHED,
    EXTRACTIONS,
    CHANGES,
)

INDEXES = (
    "CREATE INDEX idx_entity_aliases_entity ON entity_aliases (entity_id)",
    "CREATE INDEX idx_mentions_entity ON mentions (entity_id, chunk_id)",
    "CREATE INDEX idx_relations_target ON relations (target_id, source_id)",
    "CREATE INDEX idx_relations_collection ON relations (collection_id)",
    "CREATE INDEX idx_relation_mentions_relation ON relation_mentions (relation_id, chunk_id)",
    "CREATE INDEX idx_concept_relations_target ON concept_relations (target_id, source_id)",
    "CREATE INDEX idx_extractions_document ON extractions (document_id)",
    "CREATE INDEX idx_extractions_created ON extractions (created_at)",
)

# Trusted since Postgres 13: no superuser needed. Without it names are found exactly or by alias.
TRIGRAMS = """
    DO $$
    BEGIN
        CREATE EXTENSION IF NOT EXISTS pg_trgm;
        CREATE INDEX idx_entities_trigrams ON entities USING gin (normal_name gin_trgm_ops);
    EXCEPTION
        WHEN insufficient_privilege OR undefined_file OR feature_not_supported
            OR undefined_object THEN
        RAISE WARNING 'no extension pg_trgm (%): entity names are not searched by similarity',
            sqlerrm;
    END $$
"""

DERIVE = """
CREATE FUNCTION graph_derive(ids bigint[]) RETURNS void LANGUAGE sql AS $$
    UPDATE entities e SET type = derived.type, description = derived.description
    FROM (
        SELECT id,
            coalesce((
                SELECT m.type FROM (
                    SELECT type FROM mentions WHERE entity_id = id ORDER BY chunk_id LIMIT 1000
                ) m
                GROUP BY m.type ORDER BY m.type IN ('title', 'unknown'), count(*) DESC, m.type LIMIT 1
            ), 'unknown'),
            coalesce((
                SELECT string_agg(d.description, E'\\n' ORDER BY d.first, d.description) FROM (
                    SELECT m.description, min(m.chunk_id)
                    FROM (
                        SELECT chunk_id, description FROM mentions
                        WHERE entity_id = id ORDER BY chunk_id LIMIT 1000
                    ) m
                    WHERE m.description <> ''
                    GROUP BY m.description ORDER BY 2, 1 LIMIT 8
                ) d (description, first)
            ), '')
        FROM unnest(ids) AS id
    ) derived (id, type, description)
    WHERE e.id = derived.id
        AND (e.type, e.description) IS DISTINCT FROM (derived.type, derived.description)
$$
"""
"""Most frequent type (one that says something before 'title' and 'unknown', ties by name) and the first eight distinct
descriptions, of the thousand oldest mentions: the same whatever order they were written in, and
bounded for entities that everything names. Callers hold the rows' locks."""

# Lock first, look in a statement of its own: a mention committed while we waited is seen then.
PRUNE = """
CREATE FUNCTION graph_prune(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM entities WHERE id = ANY(ids) ORDER BY id FOR UPDATE;
    DELETE FROM entities e WHERE e.id = ANY(ids)
        AND NOT EXISTS (SELECT FROM mentions WHERE entity_id = e.id)
        AND NOT EXISTS (SELECT FROM relations WHERE source_id = e.id)
        AND NOT EXISTS (SELECT FROM relations WHERE target_id = e.id);
    PERFORM graph_derive(ids);
END $$
"""

MENTIONS_DELETED = """
CREATE FUNCTION graph_mentions_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE ids bigint[];
BEGIN
    SELECT array_agg(DISTINCT entity_id ORDER BY entity_id) INTO ids FROM old_mentions;
    IF ids IS NOT NULL THEN
        PERFORM graph_prune(ids);
    END IF;
    RETURN NULL;
END $$
"""

RELATION_MENTIONS_DELETED = """
CREATE FUNCTION graph_relation_mentions_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone bigint[];
    ends bigint[];
BEGIN
    SELECT array_agg(DISTINCT relation_id) INTO gone FROM old_mentions;
    IF gone IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT array_agg(DISTINCT e.id ORDER BY e.id) INTO ends
        FROM relations r CROSS JOIN LATERAL (VALUES (r.source_id), (r.target_id)) e (id)
        WHERE r.id = ANY(gone);
    IF ends IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM FROM entities WHERE id = ANY(ends) ORDER BY id FOR UPDATE;
    DELETE FROM relations r WHERE r.id = ANY(gone)
        AND NOT EXISTS (SELECT FROM relation_mentions WHERE relation_id = r.id);
    PERFORM graph_prune(ends);
    RETURN NULL;
END $$
"""

# Beforehand and at once what the cascade would do chunk by chunk, with all locks in one order.
RELEASE = """
CREATE FUNCTION graph_release(documents bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    these bigint[];
    ids bigint[];
BEGIN
    SELECT array_agg(id) INTO these FROM chunks WHERE document_id = ANY(documents);
    SELECT array_agg(DISTINCT e.id ORDER BY e.id) INTO ids FROM (
        SELECT entity_id FROM mentions WHERE chunk_id = ANY(these)
        UNION ALL
        SELECT unnest(ARRAY[r.source_id, r.target_id])
        FROM relation_mentions m JOIN relations r ON r.id = m.relation_id
        WHERE m.chunk_id = ANY(these)
    ) e (id);
    IF ids IS NOT NULL THEN
        PERFORM FROM entities WHERE id = ANY(ids) ORDER BY id FOR UPDATE;
        DELETE FROM relation_mentions WHERE chunk_id = ANY(these);
        DELETE FROM mentions WHERE chunk_id = ANY(these);
    END IF;
    DELETE FROM graphed_documents WHERE document_id = ANY(documents);
END $$
"""
"""Callers hold the documents' row locks, so that no mention of theirs comes meanwhile."""

FUNCTIONS = (
    "graph_derive(bigint[])",
    "graph_prune(bigint[])",
    "graph_mentions_deleted()",
    "graph_relation_mentions_deleted()",
    "graph_release(bigint[])",
)

# As for the postings' triggers: a plan made over an empty table is kept for the whole session.
PINS = tuple(
    f"ALTER FUNCTION {function} SET {setting}"
    for function in FUNCTIONS
    for setting in (
        "search_path FROM CURRENT",
        "enable_hashjoin = off",
        "enable_mergejoin = off",
        "enable_seqscan = off",
    )
)

TRIGGERS = (
    """CREATE TRIGGER graph_mentions_deleted AFTER DELETE ON mentions
        REFERENCING OLD TABLE AS old_mentions
        FOR EACH STATEMENT EXECUTE FUNCTION graph_mentions_deleted()""",
    """CREATE TRIGGER graph_relation_mentions_deleted AFTER DELETE ON relation_mentions
        REFERENCING OLD TABLE AS old_mentions
        FOR EACH STATEMENT EXECUTE FUNCTION graph_relation_mentions_deleted()""",
)


def upgrade() -> None:
    """Add tables, functions and triggers; pg_trgm and its index where the server has it."""
    for statement in (
        *TABLES,
        *INDEXES,
        TRIGRAMS,
        DERIVE,
        PRUNE,
        MENTIONS_DELETED,
        RELATION_MENTIONS_DELETED,
        RELEASE,
        *PINS,
        *TRIGGERS,
    ):
        op.execute(statement)


def downgrade() -> None:
    """Remove them; entities, concepts and cached answers are lost. The extension stays."""
    op.execute(
        "DROP TABLE graph_changes, extractions, graphed_documents, concept_relations, concepts, "
        "relation_mentions, relations, mentions, entity_aliases, entities"
    )
    for function in reversed(FUNCTIONS):
        op.execute(f"DROP FUNCTION {function}")
