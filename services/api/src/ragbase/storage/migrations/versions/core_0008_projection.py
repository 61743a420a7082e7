"""Outbox of the graph's projection: triggers note what changed, while somebody wants to know.

A row of ``graph_changes`` names what to look at again, not what to do: its reader takes it away,
reads how the thing stands now, and makes the projection so. ``key`` is the id of an entity or
concept, or of a relation's source, ``target`` then of its target; or that of a relation that is
there (``relation_id``), which spares its writer a look-up. See
``docs/adr/0031-graph-stores.md``.

Revision: core_0008
"""

from __future__ import annotations

from alembic import op

revision = "core_0008"
down_revision = "core_0007"
branch_labels = None
depends_on = None

# At most one row: none where no projection was ever wanted. ``epoch`` names this history of the
# graph: a projection of another (a restored backup, a gap in the notes) is made anew. ``fence``
# numbers its writers, so that one that was thought dead writes nothing more.
PROJECTION = """
    CREATE TABLE graph_projection (
        one boolean PRIMARY KEY DEFAULT true CHECK (one),
        wanted_until timestamptz NOT NULL,
        epoch uuid NOT NULL DEFAULT gen_random_uuid(),
        fence bigint NOT NULL DEFAULT 0
    )
"""
CHANGES = """
    CREATE TABLE graph_changes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        kind text NOT NULL
            CHECK (kind IN ('entity', 'relation', 'relation_id', 'concept', 'concept_relation')),
        key bigint NOT NULL,
        target bigint
    )
"""
CHANGES_BEFORE = """
    CREATE TABLE graph_changes (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        collection_id bigint NOT NULL,
        kind text NOT NULL,
        key bigint NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
    )
"""
"""As core_0005 made it; nothing wrote it."""

_NOTE = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM graph_projection WHERE wanted_until > now()) THEN
        INSERT INTO graph_changes (kind, key, target) {rows};
    END IF;
    RETURN NULL;
END $$
"""
_NOTES = {
    "graph_note_entities": "SELECT DISTINCT 'entity', id, NULL::bigint FROM changed",
    "graph_note_mentions": "SELECT DISTINCT 'entity', entity_id, NULL::bigint FROM changed",
    "graph_note_relations": "SELECT DISTINCT 'relation', source_id, target_id FROM changed",
    "graph_note_relation_mentions": "SELECT DISTINCT 'relation_id', relation_id, NULL::bigint FROM changed",
    "graph_note_concepts": "SELECT DISTINCT 'concept', id, NULL::bigint FROM changed",
    "graph_note_concept_relations": """
            SELECT DISTINCT 'concept_relation', source_id, target_id FROM changed
    """,
}
# What a table's statements change of the projection. An entity or relation is made and mended
# together with its mentions, which note it: only their going, and what is derived, is left.
_EVENTS = {
    "entities": ("UPDATE", "DELETE"),
    "mentions": ("INSERT", "DELETE"),
    "relations": ("DELETE",),
    "relation_mentions": ("INSERT", "UPDATE", "DELETE"),
    "concepts": ("INSERT", "UPDATE", "DELETE"),
    "concept_relations": ("INSERT", "UPDATE", "DELETE"),
}
_TRIGGER = """
    CREATE TRIGGER graph_note_{verb} AFTER {event} ON {table}
    REFERENCING {image} TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION graph_note_{table}()
"""
# Sessions of the API plan each statement anew; these have but one plan.
_SETTINGS = ("search_path FROM CURRENT", "plan_cache_mode = force_generic_plan")

# Paths without a direction look for sources by target, too; walks take targets by id.
INDEX = "CREATE INDEX idx_concept_relations_source ON concept_relations (source_id, target_id)"


def _triggers() -> list[str]:
    return [
        _TRIGGER.format(
            verb=event.lower(),
            event=event,
            table=table,
            image="OLD" if event == "DELETE" else "NEW",
        )
        for table, events in _EVENTS.items()
        for event in events
    ]


def upgrade() -> None:
    """Add the table of who wants notes, the outbox in its new form, and the triggers."""
    op.execute("DROP TABLE graph_changes")
    for statement in (PROJECTION, CHANGES, INDEX):
        op.execute(statement)
    for name, rows in _NOTES.items():
        op.execute(_NOTE.format(name=name, rows=rows))
        for setting in _SETTINGS:
            op.execute(f"ALTER FUNCTION {name}() SET {setting}")
    for trigger in _triggers():
        op.execute(trigger)


def downgrade() -> None:
    """Remove them; what was noted is lost, so a projection is made anew after the next upgrade."""
    for table, events in _EVENTS.items():
        for event in events:
            op.execute(f"DROP TRIGGER graph_note_{event.lower()} ON {table}")
    for name in _NOTES:
        op.execute(f"DROP FUNCTION {name}()")
    op.execute("DROP INDEX idx_concept_relations_source")
    op.execute("DROP TABLE graph_changes, graph_projection")
    op.execute(CHANGES_BEFORE)
