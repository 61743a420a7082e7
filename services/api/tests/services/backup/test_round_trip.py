"""A backup restored is the database it was taken of, to the last row and answer."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest

import ragbase
from ragbase.models.search import SearchRequest
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.services.backup.create import back_up
from ragbase.services.backup.place import Place, Progress
from ragbase.services.backup.shelf import Shelf, resolve
from ragbase.storage.migrations import check_schema
from ragbase.storage.migrations.revise import revise
from ragbase.storage.pool import Database

SENTENCES = (
    "Ships moor at the north quay.",
    "Captains pay the mooring fee at noon.",
    "The north quay was repaired in spring.",
    "Storms kept all ships at sea for a week.",
    "Boil the rice, then add salt and pepper.",
    "Größe und Gewicht, 漢字, naïve café.",
)
QUERIES = ("north quay ships", "mooring fee", "rice with salt", "Größe 漢字", "nothing of this")


async def fill(world: Any) -> None:
    await world.collection("notes", language="german")
    for number in range(30):
        await world.add(
            f"Document {number}",
            *(SENTENCES[(number + step) % len(SENTENCES)] + f" {number}" for step in range(3)),
            collection="notes" if number % 3 == 0 else "default",
            metadata={"number": number, "tags": ["a", "b"]},
            external_id=f"{number}.md",
        )


async def answers(world: Any) -> list[str]:
    """What each query is answered, without the times."""
    service, found = world.service(), []
    for query in QUERIES:
        for mode in ("keyword", "semantic", "search"):
            request = SearchRequest.model_validate(
                {"query": query, "top_k": 20, "explain": True, "collections": ["default", "notes"]}
            )
            answer = await getattr(service, mode)(request)
            found.append(answer.model_dump_json(exclude={"timings_ms"}))
    return found


async def everything(rows_of: Any, url: str) -> dict[str, list[Any]]:
    """All rows of all tables, in order."""
    tables = await rows_of(
        url,
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
    )
    return {
        table: await rows_of(url, f"SELECT t::text FROM {table} t ORDER BY 1")
        for (table,) in tables
    }


async def test_every_row_and_every_answer_is_the_same(
    world: Any, database_url: str, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    await fill(world)
    before = await answers(world)
    entry = await take()
    restored = await give(entry.path, target)
    assert (restored.verified, restored.migrated, restored.healed) == (True, False, ())
    assert await everything(rows_of, target) == await everything(rows_of, database_url)
    async with await Database.open(target, min_size=0) as database:
        assert await answers(type(world)(database, world.model)) == before


async def test_the_manifest_tells_what_is_in_it(world: Any, take: Any) -> None:
    await fill(world)
    entry = await take()
    manifest = entry.manifest
    assert manifest.version == ragbase.__version__
    assert manifest.dialect == "native"
    assert any(revision.startswith("core_") for revision in manifest.revisions)
    assert manifest.extensions["vector"]
    assert manifest.embedding_models == {"fake": world.model.dimension}
    assert manifest.rows("documents") == 30
    assert manifest.rows("chunks") == manifest.rows("embeddings") == 90
    assert manifest.rows("postings") > 300
    assert manifest.bytes == (entry.path / "database.dump").stat().st_size


async def test_only_the_owner_may_read_it(world: Any, take: Any) -> None:
    entry = await take()
    assert entry.path.parent.stat().st_mode & 0o777 == 0o700
    assert entry.path.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in entry.path.iterdir()} == {0o600}


async def test_ids_go_on_where_they_were(world: Any, target: str, take: Any, give: Any) -> None:
    """R31: the last document is deleted before the backup; its id must not come again."""
    await world.add("kept", "text")
    last = await world.add("deleted", "text")
    async with world.database.acquire() as connection:
        await connection.execute("DELETE FROM documents WHERE id = $1", last)
    await give((await take()).path, target)
    async with await Database.open(target, min_size=0) as database:
        assert await type(world)(database, world.model).add("new", "text") > last


async def test_keys_are_in_it(
    world: Any, database_url: str, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    async with world.database.acquire() as connection:
        await connection.execute(
            "INSERT INTO api_keys (key_id, name, secret_hash, scopes) "
            "VALUES ('abcdefgh', 'reader', sha256('x'), '{read}')"
        )
    await give((await take()).path, target)
    assert await rows_of(target, "SELECT name FROM api_keys") == [("reader",)]


async def test_postings_are_those_of_the_chunks_and_writable(
    world: Any, target: str, take: Any, give: Any
) -> None:
    await fill(world)
    await give((await take()).path, target)
    async with await Database.open(target, min_size=0) as database:
        async with database.acquire() as connection:
            assert await NativeDialect().prepare(connection) == []
        copy = type(world)(database, world.model)
        await copy.add("Zeppelin", "A zeppelin landed.")
        request = SearchRequest.model_validate({"query": "zeppelin"})
        found = await copy.service().keyword(request)
        assert [row.document_title for row in found.results] == ["Zeppelin"]


async def test_the_graph_is_in_it_and_still_goes_with_its_documents(
    world: Any, database_url: str, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    await fill(world)
    async with (
        await Database.open(database_url, min_size=0) as database,
        database.acquire() as connection,
    ):
        await connection.execute("""
                INSERT INTO entities (collection_id, normal_name, name)
                SELECT id, 'quay ' || n, 'Quay ' || n FROM collections, generate_series(1, 2) n;
                INSERT INTO mentions (chunk_id, entity_id, document_id, collection_id)
                SELECT c.id, e.id, c.document_id, c.collection_id
                FROM chunks c JOIN entities e USING (collection_id);
                INSERT INTO relations (collection_id, source_id, target_id)
                SELECT a.collection_id, a.id, b.id FROM entities a JOIN entities b
                USING (collection_id) WHERE a.normal_name < b.normal_name;
                INSERT INTO relation_mentions (relation_id, chunk_id)
                SELECT r.id, c.id FROM relations r JOIN chunks c USING (collection_id);
                INSERT INTO extractions (key, purpose, document_id, result)
                SELECT sha256(id::text::bytea), 'extraction', id, '{}' FROM documents
            """)
    entry = await give((await take()).path, target)
    assert entry.verified
    tables = ("entities", "mentions", "relations", "relation_mentions", "extractions")
    for table in tables:
        ((count,),) = await rows_of(target, f"SELECT count(*) FROM {table}")
        assert count >= 2, table
    await rows_of(target, "DELETE FROM documents")
    for table in tables:
        assert await rows_of(target, f"SELECT count(*) FROM {table}") == [(0,)], table


async def test_what_was_projected_of_the_original_is_no_projection_of_the_copy(
    world: Any, database_url: str, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    """Ids given out since the backup mean other things now: a new epoch begins."""
    await world.add("One", "Text.")
    [first] = await rows_of(
        database_url,
        "INSERT INTO graph_projection (wanted_until) VALUES (now() + interval '1 day') "
        "RETURNING wanted_until, epoch",
    )
    await give((await take()).path, target)
    [second] = await rows_of(target, "SELECT wanted_until, epoch FROM graph_projection")
    assert second[0] == first[0]
    assert second[1] != first[1]


async def test_restored_tables_are_vacuumed_and_analysed(
    world: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    """Index-only scans of postings would visit each row otherwise."""
    await fill(world)
    await give((await take()).path, target)
    counts = (
        "SELECT relpages, relallvisible, reltuples::int FROM pg_class WHERE relname = 'postings'"
    )
    ((pages, visible, rows),) = await rows_of(target, counts)
    assert visible == pages > 0
    assert rows > 300


async def test_by_psql_for_servers_that_pg_restore_does_not_know(
    world: Any,
    database_url: str,
    target: str,
    take: Any,
    give: Any,
    rows_of: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Servers before 17 refuse the first statement of newer programs."""

    async def sixteen(_: object) -> int:
        return 16

    monkeypatch.setattr("ragbase.services.backup.restore.server_major", sixteen)
    await fill(world)
    restored = await give((await take()).path, target)
    assert restored.verified
    assert await everything(rows_of, target) == await everything(rows_of, database_url)


async def test_an_older_schema_is_migrated_after_loading(
    empty_database_url: str, target: str, programs: Path, give: Any, shelf: Shelf, rows_of: Any
) -> None:
    await rows_of(empty_database_url, "CREATE EXTENSION IF NOT EXISTS vector")
    await revise(empty_database_url, [("upgrade", "core_0001"), ("upgrade", "native@head")])
    insert = "INSERT INTO documents (title, content) VALUES ('old', 'text') RETURNING id"
    await rows_of(empty_database_url, insert)
    entry = await back_up(Place(empty_database_url, None, programs), shelf)
    restored = await give(entry.path, target)
    assert (restored.verified, restored.migrated) == (True, True)
    assert await rows_of(target, "SELECT title FROM documents") == [("old",)]
    async with (
        await Database.open(target, min_size=0) as database,
        database.acquire() as connection,
    ):
        assert (await check_schema(connection)).status == "current"


async def test_progress_is_told(world: Any, target: str, take: Any, give: Any) -> None:
    await fill(world)
    told: list[Progress] = []
    entry = await take(report=told.append)
    assert any(each.item == "public.chunks" for each in told)
    told.clear()
    await give(entry.path, target, report=told.append)
    restoring = [each for each in told if each.stage == "Restoring"]
    assert any("idx_embeddings_hnsw" in each.item for each in restoring)
    last = restoring[-1]
    assert last.total is not None
    assert 0.9 * last.total <= last.done <= last.total
    assert [each.stage for each in told if each.stage == "Verifying"]


async def test_the_newest_backup_of_a_folder_is_meant_by_the_folder(
    world: Any, take: Any, shelf: Shelf
) -> None:
    first, second = await take(), await take()
    assert first.path != second.path
    assert resolve(shelf.root) == second.path
    assert resolve(first.path) == first.path


async def test_checksums_that_cannot_be_compared_leave_the_rows(
    world: Any, target: str, take: Any, give: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres does not promise its hash to be the same on every server."""
    await fill(world)
    entry = await take()

    async def other_hash(_: object) -> int:
        return 0

    monkeypatch.setattr("ragbase.services.backup.restore.hash_probe", other_hash)
    assert (await give(entry.path, target)).verified is False


async def test_extensions_that_are_there_already_do_not_matter(
    world: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    await rows_of(target, "CREATE EXTENSION vector")
    await fill(world)
    assert (await give((await take()).path, target)).verified


async def test_owner_and_privileges_of_the_source_are_not_needed(
    world: Any, target: str, take: Any, give: Any, rows_of: Any
) -> None:
    role = f"gone_{uuid.uuid4().hex[:8]}"
    async with world.database.acquire() as connection:
        await connection.execute(f"CREATE ROLE {role}")
        await connection.execute(f"ALTER TABLE documents OWNER TO {role}")
        await connection.execute(f"GRANT SELECT ON chunks TO {role}")
    entry = await take()
    async with world.database.acquire() as connection:
        await connection.execute("ALTER TABLE documents OWNER TO CURRENT_USER")
        await connection.execute(f"DROP OWNED BY {role}")
        await connection.execute(f"DROP ROLE {role}")
    assert (await give(entry.path, target)).verified
