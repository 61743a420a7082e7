"""Two tenants on one server, and a call of every operation aimed at the other's data."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx

from ragbase.storage.pool import Connection, Database

__all__ = ["CALLS", "CANARY", "OWN", "Call", "Target", "Tenants", "comparable"]

CANARY = "zqx"
"""In every text, name and key of the other tenant, and in nothing else."""
OWN = "tenant-b"


@dataclass(frozen=True)
class Target:
    """Whose data a call is aimed at: the other tenant's, or something that does not exist.

    Both are spelled alike, so that two answers differ only by what the server knows.
    """

    word: str
    """Of three letters; begins each name."""
    document_id: int
    job_id: int
    key_id: str
    entity_id: int = 0
    concept_id: int = 0
    relation_id: int = 0

    @property
    def collection(self) -> str:
        return f"{self.word}-collection"

    def text(self, what: str) -> str:
        return f"{self.word}{what}"

    def blank(self, said: str) -> str:
        """What was said, with the words of this target taken out."""
        for own, shared in (
            (self.word, "WORD"),
            (self.word.upper(), "WORD"),
            (str(self.document_id), "DOCUMENT"),
            (str(self.job_id), "JOB"),
            (self.key_id, "KEY"),
            (str(self.entity_id), "ENTITY"),
            (str(self.concept_id), "CONCEPT"),
            (str(self.relation_id), "RELATION"),
        ):
            said = said.replace(own, shared)
        return said


@dataclass(frozen=True)
class Call:
    """One request: its path under the host, and what `httpx` takes with it."""

    method: str
    path: str
    arguments: dict[str, Any] = field(default_factory=dict)


Aim = Callable[[Target], Iterator[Call]]
CALLS: dict[tuple[str, str], Aim] = {}
"""By path template and method of the OpenAPI document."""


def aims_at(method: str, path: str) -> Callable[[Aim], Aim]:
    def keep(aim: Aim) -> Aim:
        CALLS[path, method] = aim
        return aim

    return keep


ASYNC = {"prefer": "respond-async, wait=20"}
EXTREMES = ({}, {"offset": 2**31 - 1}, {"limit": 100}, {"offset": 1, "limit": 1})


def filters(t: Target) -> list[dict[str, Any]]:
    """Filters that name the target's values, or all but them."""
    mine = {t.text("key"): t.text("value")}
    return [
        mine,
        {"not": mine},
        {"not": {t.text("key"): {"exists": False}}},
        {"or": [mine, {"@id": t.document_id}]},
        {"or": [{"@id": {"exists": True}}, mine]},
        {"@id": t.document_id},
        {"@id": {"in": [t.document_id, t.document_id + 1]}},
        {"@external_id": t.text("external")},
        {"@title": {"contains": t.word}},
        {t.text("key"): {"ne": "x"}},
        {"@created_at": {"gt": "1970"}},
    ]


def searches(t: Target) -> list[dict[str, Any]]:
    query = t.text("content")
    bodies: list[dict[str, Any]] = [
        {"query": query},
        {"query": query, "collection": t.collection},
        {"query": query, "collections": [t.collection]},
        {"query": query, "collections": [OWN, t.collection]},
        {"query": query, "collections": [t.collection, "default", OWN]},
        {"query": query, "collection": "default"},
        {"query": query, "collection": OWN, "top_k": 100, "candidates": 1000, "explain": True},
        {"query": query, "collection": OWN, "offset": 900, "candidates": 1000},
        {"query": query, "collection": OWN, "group_by": "document", "min_score": 0.0},
        {"query": "ships after dusk", "collection": OWN, "explain": True, "filter": filters(t)[1]},
        {"query": query, "collection": t.collection.upper()},
        {"query": query, "collection": f"{OWN}' OR name = '{t.collection}"},
    ]
    bodies += [{"query": query, "collection": OWN, "filter": each} for each in filters(t)]
    return bodies


def document(t: Target, **fields: Any) -> dict[str, Any]:
    return {"title": t.text("title"), "content": f"{t.text('content')} said again.", **fields}


@aims_at("post", "/v1/search")
@aims_at("post", "/v1/search/semantic")
@aims_at("post", "/v1/search/keyword")
def search(t: Target) -> Iterator[Call]:
    for arm in ("", "/semantic", "/keyword"):
        for body in searches(t):
            yield Call("POST", f"/v1/search{arm}", {"json": body})


@aims_at("post", "/v1/search/graph")
def graph_search(t: Target) -> Iterator[Call]:
    query = f"{t.text('entity')} and {t.text('other')}"
    for body in (
        {"query": query, "collection": OWN, "hops": 2},
        {"query": query, "collection": OWN, "chunk_ranking": "pagerank", "ranking": "none"},
        {"query": query, "collection": t.collection},
        {"query": query, "collections": [OWN, t.collection]},
        {"query": query, "collection": "default"},
        {"query": query},
        *({"query": query, "collection": OWN, "filter": each} for each in filters(t)),
    ):
        yield Call("POST", "/v1/search/graph", {"json": body})


@aims_at("get", "/v1/documents")
def list_documents(t: Target) -> Iterator[Call]:
    for page in EXTREMES:
        yield Call("GET", "/v1/documents", {"params": page})
    for name in (t.collection, "default", OWN, f"{OWN},{t.collection}", "*", "%"):
        yield Call("GET", "/v1/documents", {"params": {"collection": name}})


@aims_at("post", "/v1/documents")
def create_document(t: Target) -> Iterator[Call]:
    wanted: list[dict[str, Any]] = [
        {"collection": t.collection},
        {"collection": t.collection, "external_id": t.text("external")},
        {},
        {"collection": OWN, "dedupe": True},
        {"collection": OWN, "external_id": t.text("external"), "dedupe": True},
    ]
    for headers in ({}, ASYNC):
        for fields in wanted:
            arguments = {"json": document(t, **fields), "headers": headers}
            yield Call("POST", "/v1/documents", arguments)


@aims_at("post", "/v1/documents/batch")
def create_documents(t: Target) -> Iterator[Call]:
    items = [
        document(t, collection=t.collection),
        document(t, collection=OWN, external_id=t.text("external")),
        document(t, collection="default"),
        document(t, collection=t.collection, external_id=t.text("external"), dedupe=True),
    ]
    for headers in ({}, ASYNC):
        yield Call("POST", "/v1/documents/batch", {"json": items, "headers": headers})
    lines = "".join(json.dumps(item) + "\n" for item in items)
    kind = {"content-type": "application/x-ndjson"}
    yield Call("POST", "/v1/documents/batch", {"content": lines, "headers": kind})


@aims_at("post", "/v1/documents/upload")
def upload_document(t: Target) -> Iterator[Call]:
    file = ("notes.md", f"# {t.text('title')}\n\n{t.text('content')} once more.", "text/markdown")
    for headers in ({}, ASYNC):
        for name in (t.collection, OWN, "default"):
            fields = {"collection": name, "external_id": t.text("external")}
            arguments = {"files": {"file": file}, "data": fields, "headers": headers}
            yield Call("POST", "/v1/documents/upload", arguments)


@aims_at("post", "/v1/documents/delete")
def delete_documents(t: Target) -> Iterator[Call]:
    bodies: list[dict[str, Any]] = [
        {"ids": [t.document_id]},
        {"ids": [t.document_id, -1, 0, 2**62]},
        {"ids": [t.document_id], "collection": t.collection},
        {"ids": [t.document_id], "collection": OWN},
        {"filter": {"@id": t.document_id}},
        {"filter": {"@id": {"exists": True}}, "collection": t.collection},
        {"filter": {"@id": {"exists": True}}, "collection": "default"},
        {"filter": {"@id": t.document_id}, "collection": OWN},
        {"filter": {t.text("key"): t.text("value")}, "collection": OWN},
    ]
    bodies += [{**body, "dry_run": True} for body in bodies]
    bodies += [{"filter": each, "collection": OWN, "dry_run": True} for each in filters(t)]
    for headers in ({}, ASYNC):
        for body in bodies:
            yield Call("POST", "/v1/documents/delete", {"json": body, "headers": headers})


@aims_at("get", "/v1/documents/{document_id}")
def get_document(t: Target) -> Iterator[Call]:
    yield Call("GET", f"/v1/documents/{t.document_id}")


@aims_at("patch", "/v1/documents/{document_id}")
def patch_document(t: Target) -> Iterator[Call]:
    for headers in ({}, ASYNC):
        for body in ({"metadata": {}}, {"metadata": {t.text("key"): "taken"}, "merge": True}):
            arguments = {"json": body, "headers": headers}
            yield Call("PATCH", f"/v1/documents/{t.document_id}", arguments)


@aims_at("delete", "/v1/documents/{document_id}")
def delete_document(t: Target) -> Iterator[Call]:
    yield Call("DELETE", f"/v1/documents/{t.document_id}")


@aims_at("get", "/v1/collections")
def list_collections(t: Target) -> Iterator[Call]:
    yield Call("GET", "/v1/collections", {"params": {"name": t.collection}})


@aims_at("post", "/v1/collections")
def create_collection(t: Target) -> Iterator[Call]:
    for name in (t.collection, "default", OWN):
        yield Call("POST", "/v1/collections", {"json": {"name": name, "language": "german"}})


@aims_at("get", "/v1/collections/{name}")
@aims_at("put", "/v1/collections/{name}")
@aims_at("delete", "/v1/collections/{name}")
def one_collection(t: Target) -> Iterator[Call]:
    for method in ("GET", "PUT", "DELETE"):
        arguments = {"json": {"language": "german"}} if method == "PUT" else {}
        for name in (t.collection, "default"):
            yield Call(method, f"/v1/collections/{name}", arguments)
    yield Call("PUT", f"/v1/collections/{OWN}", {"json": {"language": "german"}})
    yield Call("GET", f"/v1/collections/{OWN}")


@aims_at("get", "/v1/jobs")
def list_jobs(t: Target) -> Iterator[Call]:
    for page in ({"collection": t.collection}, {"collection": "default"}, *EXTREMES[1:2]):
        yield Call("GET", "/v1/jobs", {"params": page})
    yield Call("GET", "/v1/jobs", {"params": {"state": "failed"}})


@aims_at("get", "/v1/jobs/{job_id}")
@aims_at("post", "/v1/jobs/{job_id}/cancel")
@aims_at("post", "/v1/jobs/{job_id}/retry")
def one_job(t: Target) -> Iterator[Call]:
    yield Call("GET", f"/v1/jobs/{t.job_id}")
    yield Call("GET", f"/v1/jobs/{t.job_id}", {"headers": {"prefer": "wait=1"}})
    yield Call("POST", f"/v1/jobs/{t.job_id}/cancel")
    yield Call("POST", f"/v1/jobs/{t.job_id}/retry")


@aims_at("get", "/v1/entities")
def list_entities(t: Target) -> Iterator[Call]:
    names = (t.collection, "default", OWN)
    for asked in (*EXTREMES, *({"collection": name} for name in names)):
        yield Call("GET", "/v1/entities", {"params": asked})
        yield Call("GET", "/v1/entities", {"params": {**asked, "query": t.word}})
        yield Call("GET", "/v1/entities", {"params": {**asked, "type": t.text("type")}})


@aims_at("get", "/v1/entities/{entity_id}")
@aims_at("patch", "/v1/entities/{entity_id}")
@aims_at("delete", "/v1/entities/{entity_id}")
@aims_at("post", "/v1/entities/merge")
def one_entity(t: Target) -> Iterator[Call]:
    yield Call("GET", f"/v1/entities/{t.entity_id}")
    yield Call("PATCH", f"/v1/entities/{t.entity_id}", {"json": {"name": "taken"}})
    yield Call("DELETE", f"/v1/entities/{t.entity_id}")
    for target, source in ((t.entity_id, 1), (1, t.entity_id), (t.entity_id, t.entity_id + 1)):
        body = {"target_id": target, "source_ids": [source]}
        yield Call("POST", "/v1/entities/merge", {"json": body})


@aims_at("get", "/v1/concepts")
def list_concepts(t: Target) -> Iterator[Call]:
    names = (t.collection, "default", OWN)
    for asked in (*EXTREMES, *({"collection": name} for name in names)):
        for more in ({}, {"text": t.word}, {"type": t.text("type")}):
            yield Call("GET", "/v1/concepts", {"params": {**asked, **more}})


@aims_at("post", "/v1/concepts")
def put_concept(t: Target) -> Iterator[Call]:
    for name in (t.collection, "default", OWN):
        body = {"name": t.text("concept"), "collection": name}
        yield Call("POST", "/v1/concepts", {"json": body})
    yield Call("POST", "/v1/concepts", {"json": {"name": t.text("concept")}})


@aims_at("get", "/v1/concepts/{concept_id}")
@aims_at("patch", "/v1/concepts/{concept_id}")
@aims_at("delete", "/v1/concepts/{concept_id}")
def one_concept(t: Target) -> Iterator[Call]:
    for concept_id in (t.concept_id, t.concept_id + 1):
        yield Call("GET", f"/v1/concepts/{concept_id}")
        for body in ({"name": "taken"}, {"metadata": {}}, {}):
            yield Call("PATCH", f"/v1/concepts/{concept_id}", {"json": body})
        yield Call("DELETE", f"/v1/concepts/{concept_id}")


@aims_at("post", "/v1/relations")
@aims_at("get", "/v1/relations")
@aims_at("delete", "/v1/relations/{relation_id}")
def relations(t: Target) -> Iterator[Call]:
    theirs, other = t.text("concept"), t.text("neighbour")
    for ends in ((theirs, other), (theirs, "own concept"), ("own concept", theirs)):
        for name in (t.collection, OWN, "default"):
            body = {
                "source_name": ends[0],
                "target_name": ends[1],
                "relation_type": t.text("type"),
                "collection": name,
            }
            yield Call("POST", "/v1/relations", {"json": body})
    for name in (t.collection, OWN, "default"):
        for concept in (theirs, other, "own concept"):
            asked = {"concept_name": concept, "collection": name}
            yield Call("GET", "/v1/relations", {"params": asked})
    yield Call("DELETE", f"/v1/relations/{t.relation_id}")


@aims_at("get", "/v1/stats")
def stats(t: Target) -> Iterator[Call]:
    yield Call("GET", "/v1/stats", {"params": {"collection": t.collection}})


@aims_at("post", "/v1/embed")
def embed(t: Target) -> Iterator[Call]:
    yield Call("POST", "/v1/embed", {"json": {"inputs": ["a text of one's own"]}})


@aims_at("post", "/v1/rerank")
def rerank(t: Target) -> Iterator[Call]:
    for body in ({}, {"rerank_model": "qwen-8b"}, {"rerank_model": "nobody"}):
        texts = {"query": "of one's own", "texts": ["a text", "another"], **body}
        yield Call("POST", "/v1/rerank", {"json": texts})


@aims_at("get", "/v1/keys")
@aims_at("post", "/v1/keys")
@aims_at("get", "/v1/keys/{key_id}")
@aims_at("delete", "/v1/keys/{key_id}")
def keys(t: Target) -> Iterator[Call]:
    yield Call("GET", "/v1/keys")
    body = {"name": "more", "scopes": ["admin"], "collections": [t.collection]}
    yield Call("POST", "/v1/keys", {"json": body})
    yield Call("GET", f"/v1/keys/{t.key_id}")
    yield Call("DELETE", f"/v1/keys/{t.key_id}")


@aims_at("get", "/health")
@aims_at("get", "/health/live")
@aims_at("get", "/health/ready")
@aims_at("get", "/health/models")
def health(_: Target) -> Iterator[Call]:
    for path in ("/health", "/health/live", "/health/ready", "/health/models"):
        yield Call("GET", path)
    for path in ("/metrics", "/", "/docs", "/openapi.json"):  # not in the document
        yield Call("GET", path)


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
