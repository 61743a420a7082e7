"""API keys: hashed, with scopes and perhaps bound to collections."""

from __future__ import annotations

from alembic import op

revision = "core_0002"
down_revision = "core_0001"
branch_labels = None
depends_on = None

API_KEYS = """
    CREATE TABLE api_keys (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        key_id text NOT NULL UNIQUE CHECK (key_id ~ '^[a-z0-9]{8,32}$'),
        name text NOT NULL,
        secret_hash bytea NOT NULL CHECK (octet_length(secret_hash) = 32),
        scopes text[] NOT NULL
            CHECK (cardinality(scopes) > 0 AND scopes <@ ARRAY['read', 'write', 'admin']),
        collections text[] CHECK (cardinality(collections) > 0),
        created_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz,
        last_used_at timestamptz,
        revoked_at timestamptz
    )
"""


def upgrade() -> None:
    """Add the table."""
    op.execute(API_KEYS)


def downgrade() -> None:
    """Remove it; every key is lost."""
    op.execute("DROP TABLE api_keys")
