"""Documents go in whole, come out as they went in, and leave nothing behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import asyncpg
import numpy as np
import pytest

from ragbase.errors import NotFoundError
from ragbase.models.domain import Document
from ragbase.storage import collections
from ragbase.storage import documents as store
from ragbase.storage.chunks import load_chunks
from ragbase.storage.embedding_models import EmbeddingModel, ensure_model
from ragbase.storage.pool import Connection


@pytest.fixture
async def model(connection: Connection) -> EmbeddingModel:
    """A model of 8 dimensions."""
    return await ensure_model(connection, "tests/eight", 8)


async def row_counts(connection: Connection) -> dict[str, int]:
    """Rows of every table of the database."""
    tables = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    counts = {}
    for (table,) in tables:
        counts[table] = await connection.fetchval(f"SELECT count(*) FROM {table}")
    return counts


async def test_a_document_comes_back_as_it_went_in(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    sample = make_sample(
        ["eins", "zwei drei", "vier"], metadata={"lang": "de", "n": [1, None]}, external_id="x/1"
    )
    stored = await store.insert_document(connection, *sample, model.id)
    assert stored == await store.get_document(connection, stored.id)
    assert (stored.chunk_count, stored.collection, stored.external_id) == (3, "default", "x/1")
    assert stored.metadata == {"lang": "de", "n": [1, None]}
    chunks = await store.list_chunks(connection, stored.id)
    assert [chunk.content for chunk in chunks] == ["eins", "zwei drei", "vier"]
    assert [stored.content[chunk.start : chunk.end] for chunk in chunks] == [
        chunk.content for chunk in chunks
    ]
    assert chunks[1].indexed_content == "Sample\n\nzwei drei"
    assert (chunks[1].token_count, chunks[1].document_title) == (2, "Sample")
    assert chunks[1].metadata == stored.metadata
    rows = await connection.fetch(
        "SELECT e.embedding FROM embeddings e JOIN chunks c ON c.id = e.chunk_id "
        "ORDER BY c.chunk_index"
    )
    assert np.array_equal(np.stack([row[0] for row in rows]), sample.vectors)


async def test_terms_reach_the_index_joined_by_spaces(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    await store.insert_document(connection, *make_sample(["Alpha beta"]), model.id)
    assert await connection.fetchval("SELECT lexical_text FROM chunks") == "sample alpha beta"


async def test_the_first_vectors_name_the_collections_model(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    before = await collections.get_collection(connection, "default")
    await store.insert_document(connection, *make_sample(), model.id)
    after = await collections.get_collection(connection, "default")
    assert before is not None
    assert after is not None
    assert before.embedding_model is None
    assert (after.embedding_model, after.embedding_model_id) == ("tests/eight", model.id)


async def test_without_vectors_or_chunks_a_document_can_still_be_stored(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    sample = make_sample(["only keywords"])
    await store.insert_document(connection, sample.draft, sample.chunks, None, None)
    bare = await store.insert_document(connection, *make_sample([]), model.id)
    assert bare.chunk_count == 0
    assert await connection.fetchval("SELECT count(*) FROM embeddings") == 0


async def test_a_vector_too_few_stores_nothing(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    """B065: a shifted vector must never be stored."""
    sample = make_sample(["a", "b"])

    async def insert() -> None:
        async with connection.transaction():
            await store.insert_document(
                connection, sample.draft, sample.chunks, sample.vectors[:1], model.id
            )

    with pytest.raises(ValueError, match="1 vectors for 2 chunks"):
        await insert()
    assert await connection.fetchval("SELECT count(*) FROM documents") == 0


async def test_a_vector_of_another_dimension_is_refused_by_the_index(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    with pytest.raises(asyncpg.DataError, match="expected 8 dimensions"):
        await store.insert_document(connection, *make_sample(dimension=9), model.id)


async def test_a_collection_that_is_gone_is_not_found(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    with pytest.raises(NotFoundError) as caught:
        await store.insert_document(connection, *make_sample(collection_id=99), model.id)
    assert caught.value.code == "collection_not_found"


async def test_a_replacement_keeps_id_and_creation_time(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    old = await store.insert_document(connection, *make_sample(["a", "b", "c"]), model.id)
    old_chunks = {chunk.id for chunk in await store.list_chunks(connection, old.id)}
    sample = make_sample(["d"], title="New", metadata={"v": 2}, external_id="e")
    new = await store.replace_document(connection, old.id, *sample, model.id)
    assert new == await store.get_document(connection, old.id)
    assert (new.id, new.created_at, new.chunk_count) == (old.id, old.created_at, 1)
    assert new.updated_at > old.updated_at
    chunks = await store.list_chunks(connection, old.id)
    assert [chunk.content for chunk in chunks] == ["d"]
    assert not old_chunks & {chunk.id for chunk in chunks}  # ids are never used again
    assert await connection.fetchval("SELECT count(*) FROM embeddings") == 1


async def test_replacing_what_is_gone_is_not_found(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    with pytest.raises(NotFoundError):
        await store.replace_document(connection, 5, *make_sample(), model.id)


async def test_vectors_of_unchanged_chunks_can_be_used_again(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    sample = make_sample(["same", "other"])
    document = await store.insert_document(connection, *sample, model.id)
    known = await store.vectors_by_indexed_content(connection, document.id, model.id)
    assert list(known) == ["Sample\n\nsame", "Sample\n\nother"]
    assert np.array_equal(known["Sample\n\nsame"], sample.vectors[0])
    assert await store.vectors_by_indexed_content(connection, document.id, model.id + 1) == {}


async def test_metadata_changes_beside_the_chunks_too(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    sample = make_sample()
    document = await store.insert_document(connection, *sample, model.id)
    draft = replace(sample.draft, metadata={"year": 2024}, content_hash=b"h" * 24)
    told = await store.update_metadata(connection, document.id, draft)
    changed = await store.get_document(connection, document.id)
    assert told == changed
    assert (told.metadata, told.content_hash, told.chunk_count) == ({"year": 2024}, b"h" * 24, 2)
    assert told.updated_at > document.updated_at
    copies = await connection.fetch("SELECT metadata FROM chunks")
    assert [row[0] for row in copies] == [{"year": 2024}] * 2
    with pytest.raises(NotFoundError):
        await store.update_metadata(connection, document.id + 1, draft)


async def test_the_list_is_newest_first_and_stable(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    """R48: documents of one instant must not change places between pages."""
    async with connection.transaction():  # one transaction, one created_at
        same = [
            (await store.insert_document(connection, *make_sample([str(n)]), model.id)).id
            for n in range(5)
        ]
    old = same.pop(0)
    await connection.execute(
        "UPDATE documents SET created_at = created_at - $2::interval WHERE id = $1",
        old,
        timedelta(days=1),
    )
    pages = [
        await store.list_documents(connection, offset=offset, limit=2) for offset in (0, 2, 4, 6)
    ]
    assert [total for _, total in pages] == [5] * 4
    listed = [document.id for page, _ in pages for document in page]
    assert listed == [*sorted(same, reverse=True), old]


async def test_the_list_can_leave_texts_out_and_keep_to_collections(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    other = await collections.create_collection(connection, "other")
    await store.insert_document(connection, *make_sample(["here"]), model.id)
    await store.insert_document(
        connection, *make_sample(["there"], collection_id=other.id), model.id
    )
    rows, total = await store.list_documents(
        connection, offset=0, limit=9, collections=["other"], include_content=False
    )
    assert total == 1
    assert [(row.collection, row.content, row.chunk_count) for row in rows] == [("other", "", 1)]
    assert await store.list_documents(connection, offset=store.MAX_ID + 5, limit=9) == ([], 2)
    assert await store.get_document(connection, rows[0].id, ["default"]) is None
    assert not await store.delete_document(connection, rows[0].id, ["default"])


async def test_documents_are_found_by_external_id_and_by_content(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    sample = make_sample(["once"], external_id="a")
    first = await store.insert_document(connection, *sample, model.id)
    await store.insert_document(connection, *make_sample(["once"], external_id="b"), model.id)
    assert await store.find_by_external_id(connection, 1, "a") == first
    assert await store.find_by_external_id(connection, 2, "a") is None
    digest = sample.draft.content_hash[:16]
    assert await store.find_by_content(connection, 1, digest) == first
    assert await store.find_by_content(connection, 1, b"-" * 16) is None


async def test_an_external_id_names_one_document_of_a_collection(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    other = await collections.create_collection(connection, "other")
    await store.insert_document(connection, *make_sample(external_id="a"), model.id)
    await store.insert_document(
        connection, *make_sample(external_id="a", collection_id=other.id), model.id
    )
    with pytest.raises(asyncpg.UniqueViolationError):
        await store.insert_document(connection, *make_sample(external_id="a"), model.id)


async def test_chunks_are_loaded_by_id_and_missing_ones_left_out(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    document = await store.insert_document(connection, *make_sample(["a", "b"]), model.id)
    chunks = await store.list_chunks(connection, document.id)
    wanted = chunks[1]
    assert await load_chunks(connection, [wanted.id, 10**12]) == {wanted.id: wanted}
    assert await load_chunks(connection, []) == {}


async def test_deleting_removes_every_trace(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    """R28: nothing of a deleted document may be found again, whatever the table."""
    await store.insert_document(connection, *make_sample(["kept words"]), model.id)
    statistics = "SELECT sum(chunks), sum(tokens) FROM lexical_statistics"
    before, sums = await row_counts(connection), await connection.fetchrow(statistics)
    document = await store.insert_document(connection, *make_sample(["gone words"]), model.id)
    during = await row_counts(connection)
    grown = {table for table in before if during[table] > before[table]}
    assert {"documents", "chunks", "embeddings", "postings"} <= grown
    assert await store.delete_document(connection, document.id)
    after = await row_counts(connection)
    # Statistics are kept as deltas that are folded later: their sums must be what they were.
    assert after | {"lexical_statistics": 0} == before | {"lexical_statistics": 0}
    assert await connection.fetchrow(statistics) == sums
    assert not await store.delete_document(connection, document.id)


async def test_several_documents_are_deleted_at_once(
    connection: Connection, model: EmbeddingModel, make_sample: Callable
) -> None:
    made: list[Document] = [
        await store.insert_document(connection, *make_sample([str(n)]), model.id) for n in range(3)
    ]
    first, _, third = (document.id for document in made)
    gone = await store.delete_documents(connection, [third, first, 10**12, -1, 2**63])
    assert gone == [first, third]


@pytest.mark.parametrize("number", [0, -1, 2**63, 10**30])
async def test_ids_beyond_the_column_are_simply_absent(connection: Connection, number: int) -> None:
    """R47: an id beyond 64 bits is no error of the server."""
    assert await store.get_document(connection, number) is None
    assert await store.lock_document(connection, number) is None
    assert not await store.delete_document(connection, number)
