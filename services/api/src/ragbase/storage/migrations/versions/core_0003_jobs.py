"""Jobs: work that outlives its request, and the queue it waits in."""

from __future__ import annotations

from alembic import op

revision = "core_0003"
down_revision = "core_0002"
branch_labels = None
depends_on = None

JOBS = """
    CREATE TABLE jobs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        kind text NOT NULL,
        task text NOT NULL,
        state text NOT NULL DEFAULT 'queued'
            CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'cancelled')),
        stage text,
        done integer NOT NULL DEFAULT 0,
        total integer,
        attempts integer NOT NULL DEFAULT 0,
        max_attempts integer NOT NULL CHECK (max_attempts > 0),
        error_code text,
        error_message text,
        collection_id bigint REFERENCES collections ON DELETE CASCADE,
        document_id bigint REFERENCES documents ON DELETE SET NULL,
        payload jsonb,
        blob bytea,
        result jsonb,
        key_id text,
        tag bigint NOT NULL,
        run_after timestamptz NOT NULL DEFAULT now(),
        claim uuid,
        worker text,
        lease_until timestamptz,
        cancel_requested boolean NOT NULL DEFAULT false,
        created_at timestamptz NOT NULL DEFAULT now(),
        started_at timestamptz,
        finished_at timestamptz,
        CHECK ((state = 'running') = (claim IS NOT NULL)),
        CHECK ((state = 'running') = (lease_until IS NOT NULL)),
        CHECK ((state IN ('succeeded', 'failed', 'cancelled')) = (finished_at IS NOT NULL))
    )
"""

# Uploads are compressed formats: the server would only try in vain.
STORAGE = "ALTER TABLE jobs ALTER COLUMN blob SET STORAGE EXTERNAL"

# None holds lease_until, stage, done or total: heartbeats and progress stay within their page.
INDEXES = (
    "CREATE INDEX idx_jobs_claim ON jobs (tag, id) WHERE state = 'queued'",
    "CREATE INDEX idx_jobs_running ON jobs (id) WHERE state = 'running'",
    # Largest tag of a collection's waiting jobs (0: of those of none), and of all ever claimed.
    """
    CREATE INDEX idx_jobs_collection_tag ON jobs (coalesce(collection_id, 0), tag)
        WHERE state IN ('queued', 'running')
    """,
    "CREATE INDEX idx_jobs_served ON jobs (tag) WHERE started_at IS NOT NULL",
    "CREATE INDEX idx_jobs_collection ON jobs (collection_id, id)",
    "CREATE INDEX idx_jobs_document ON jobs (document_id) WHERE document_id IS NOT NULL",
    "CREATE INDEX idx_jobs_state ON jobs (state, kind)",
    "CREATE INDEX idx_jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL",
)


def upgrade() -> None:
    """Add the table."""
    for statement in (JOBS, STORAGE, *INDEXES):
        op.execute(statement)


def downgrade() -> None:
    """Remove it; work that has not been done is lost."""
    op.execute("DROP TABLE jobs")
