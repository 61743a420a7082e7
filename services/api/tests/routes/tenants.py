"""Two tenants on one server: the data of both in place, and what of an answer can be compared."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import httpx

from ragbase.storage.pool import Connection, Database

from . import tenants_calls, tenants_graph_calls  # noqa: F401 - they fill CALLS
from .tenants_aims import CALLS, CANARY, OWN, Call, Target, document

__all__ = ["CALLS", "CANARY", "OWN", "Call", "Target", "Tenants", "comparable"]

_VOLATILE = frozenset(
    [
        "id",
        "created_at",
        "updated_at",
        "started_at",
        "finished_at",
        "document_id",
        "job_id",
        "chunk_id",
        "timings_ms",
        "storage_bytes",
        "latency_ms",
        "ner_ms",
        "graph_ms",
        "chunk_bridge_ms",
    ]
)
_HEADERS = frozenset({"x-request-id", "date", "content-length", "location"})


def comparable(answer: httpx.Response, target: Target) -> tuple[int, str, str]:
    """Status, headers and body, without what differs between any two calls."""
    headers = sorted((k, v) for k, v in answer.headers.items() if k not in _HEADERS)
    lines = [_settled(line, target) for line in answer.text.splitlines()]
    return answer.status_code, target.blank(repr(headers)), target.blank("\n".join(lines))


def _settled(line: str, target: Target) -> str:
    try:
        value = json.loads(line)
    except ValueError:
        return line
    if isinstance(value, dict) and "results" in value and target.word in value.get("query", ""):
        # Two words lie differently near the tenant's own texts.
        value["results"] = sorted(
            ({**row, "score": 0, "explain": None} for row in value["results"]),
            key=lambda row: str(row["document_title"]),
        )
    return json.dumps(_without_volatile(value), sort_keys=True)


def _without_volatile(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: "…" if key in _VOLATILE and each is not None else _without_volatile(each)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_without_volatile(each) for each in value]
    return value


@dataclass(frozen=True)
class Tenants:
    """The other tenant's data in place, the tenant's own, and the two targets of a call."""

    theirs: Target
    nobody: Target
    database: Database

    @classmethod
    async def settle(cls, admin: httpx.AsyncClient, database: Database) -> Tenants:
        """Fill both collections (and ``default``, which is not the tenant's either)."""
        async with database.transaction() as connection:
            # Ids that no count, size or position in an answer can look like.
            for table in ("documents", "jobs", "entities", "concepts", "concept_relations"):
                await connection.execute(
                    "SELECT setval(pg_get_serial_sequence($1, 'id'), 7310000)", table
                )
        names = Target(CANARY, 7310001, 7310001, "")
        for name in (names.collection, OWN):
            made = await admin.put(f"/v1/collections/{name}", json={})
            assert made.status_code == 201
        for number, collection in enumerate((names.collection, names.collection, "default")):
            body = {
                **document(names, collection=collection),
                "metadata": {names.text("key"): names.text("value"), "year": 2024},
                "external_id": names.text("external") + str(number or ""),
            }
            assert (await admin.post("/v1/documents", json=body)).status_code == 201
        for number in range(2):
            body = {
                "title": f"Tides {number}",
                "content": "Ships moor at the north quay after dusk.",
                "collection": OWN,
                "metadata": {"year": 2024},
                "external_id": f"own-{number}",
            }
            assert (await admin.post("/v1/documents", json=body)).status_code == 201
        async with database.transaction() as connection:
            job_id = await _failed_job(connection, names)
            entity_id = await _entities(connection, names)
            concept_id, relation_id = await _concepts(connection, names.collection, names)
            await _concepts(connection, OWN, None)
        key = await admin.post("/v1/keys", json={"name": names.text("key")})
        return cls(
            Target(
                CANARY,
                names.document_id,
                job_id,
                key.json()["id"],
                entity_id,
                concept_id,
                relation_id,
            ),
            Target("qjv", 7319998, 7319999, "nobodyskey00", 7319996, 7319994, 7319992),
            database,
        )

    async def undo(self) -> None:
        """Take away what the tenant has stored since, and what it has asked for."""
        ours = "collection_id = (SELECT id FROM collections WHERE name = $1)"
        async with self.database.read() as connection:
            while await connection.fetchval(  # noqa: ASYNC110 - the worker is part of the server
                f"SELECT EXISTS (SELECT FROM jobs WHERE {ours} AND finished_at IS NULL)", OWN
            ):
                await asyncio.sleep(0.01)
            await connection.execute(f"DELETE FROM jobs WHERE {ours}", OWN)
            await connection.execute(
                f"DELETE FROM documents WHERE {ours} AND external_id IS DISTINCT FROM 'own-0' "
                "AND external_id IS DISTINCT FROM 'own-1'",
                OWN,
            )
            await connection.execute(
                f"DELETE FROM concepts WHERE {ours} AND name NOT LIKE 'own %'", OWN
            )
            await connection.execute(
                "DELETE FROM concept_relations r USING concepts s, concepts t "
                "WHERE s.id = r.source_id AND t.id = r.target_id AND r.type <> 'OWN' "
                "AND s.name LIKE 'own %' AND t.name LIKE 'own %'"
            )

    async def everything_of_theirs(self) -> dict[str, list[str]]:
        """All rows that are not the tenant's own, as text."""
        found = {}
        async with self.database.read() as connection:
            for table in (
                "documents", "chunks", "embeddings", "jobs", "entities", "mentions", "relations",
                "concepts",
            ):  # fmt: skip
                rows = await connection.fetch(
                    f"SELECT t::text FROM {table} t LEFT JOIN collections k "
                    "ON k.id = t.collection_id WHERE k.name IS DISTINCT FROM $1 ORDER BY 1",
                    OWN,
                )
                found[table] = [row[0] for row in rows]
            rows = await connection.fetch(
                "SELECT r::text FROM concept_relations r JOIN concepts s ON s.id = r.source_id "
                "JOIN collections k ON k.id = s.collection_id WHERE k.name <> $1 ORDER BY 1",
                OWN,
            )
            found["concept_relations"] = [row[0] for row in rows]
            for table in ("collections", "api_keys"):
                rows = await connection.fetch(
                    f"SELECT (to_jsonb(t) - 'last_used_at')::text FROM {table} t "
                    "WHERE name <> $1 ORDER BY 1",
                    OWN,
                )
                found[table] = [row[0] for row in rows]
        return found


async def _failed_job(connection: Connection, names: Target) -> int:
    job_id: int = await connection.fetchval(
        """
        INSERT INTO jobs (kind, task, state, attempts, max_attempts, error_code, error_message,
            collection_id, document_id, payload, result, tag, finished_at)
        SELECT 'ingest', 'ingest', 'failed', 3, 3, $1, $2, id, $3, $4, $5, 1, now()
        FROM collections WHERE name = $6 RETURNING id
        """,
        names.text("code"),
        names.text("error"),
        names.document_id,
        {"title": names.text("title")},
        {names.text("result"): 1},
        names.collection,
    )
    return job_id


async def _entities(connection: Connection, names: Target) -> int:
    """Two related entities of the other tenant's, named by its chunks; the first one's id."""
    entity_id: int = await connection.fetchval(
        """
        WITH k AS (SELECT id FROM collections WHERE name = $1), e AS (
            INSERT INTO entities (collection_id, normal_name, name, type, description)
            SELECT k.id, n, n, $3, n FROM k, unnest($2::text[]) n RETURNING id, collection_id
        ), m AS (
            INSERT INTO mentions (chunk_id, entity_id, document_id, collection_id, type)
            SELECT c.id, e.id, c.document_id, c.collection_id, $3
            FROM e JOIN chunks c USING (collection_id)
        ), r AS (
            INSERT INTO relations (collection_id, source_id, target_id)
            SELECT min(collection_id), min(id), max(id) FROM e
        )
        SELECT min(id) FROM e
        """,
        names.collection,
        [names.text("entity"), names.text("other")],
        names.text("type"),
    )
    return entity_id


async def _concepts(
    connection: Connection, collection: str, names: Target | None
) -> tuple[int, int]:
    """Two related concepts of a collection; ids of the first one and of the relation."""
    first, second, kind = ("own concept", "own neighbour", "OWN")
    if names is not None:
        first, second, kind = names.text("concept"), names.text("neighbour"), names.text("type")
    row = await connection.fetchrow(
        """
        WITH c AS (
            INSERT INTO concepts (collection_id, name, type, description)
            SELECT k.id, n, $3, n FROM collections k, unnest($2::text[]) n WHERE k.name = $1
            RETURNING id
        ), r AS (
            INSERT INTO concept_relations (source_id, target_id, type)
            SELECT min(id), max(id), $3 FROM c RETURNING id
        )
        SELECT (SELECT min(id) FROM c), (SELECT id FROM r)
        """,
        collection,
        [first, second],
        kind,
    )
    assert row is not None
    return row[0], row[1]
