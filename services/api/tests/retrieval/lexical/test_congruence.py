"""The same calls against both dialects agree wherever BM25's details do not matter."""

from __future__ import annotations

from pathlib import Path

import pytest
import pytest_asyncio

from ragbase.models.domain import StoredChunk
from ragbase.models.filters import parse_filter
from ragbase.retrieval.filters import compile_filter
from ragbase.retrieval.lexical import LexicalDialect, open_dialect
from ragbase.storage.chunks import load_chunks
from ragbase.storage.pool import Connection
from ragbase.text.analyse import analyser

EMULATION = Path(__file__).parent / "emulated_pg_search.sql"


@pytest_asyncio.fixture(params=["native", "paradedb"])
async def dialect(request: pytest.FixtureRequest, connection: Connection) -> LexicalDialect:
    if request.param == "paradedb":
        await connection.execute(EMULATION.read_text(encoding="utf-8"))
    return await open_dialect(connection, request.param)


async def found(
    dialect: LexicalDialect, connection: Connection, terms: list[str], **given
) -> list[int]:  # type: ignore[no-untyped-def]
    hits = await dialect.search(
        connection, terms, given.pop("collections", [1]), depth=given.pop("depth", 10), **given
    )
    order = [(-hit.score, hit.chunk_id) for hit in hits]
    assert order == sorted(order)
    return [hit.chunk_id for hit in hits]


async def test_any_term_is_enough_and_more_terms_rank_higher(shelf, dialect, connection) -> None:
    ids = await shelf.add(["ice sea", "sea rock", "moss", "ice sea rock"])
    assert await found(dialect, connection, ["ice", "sea", "rock"]) == [ids[3], *ids[:2]]


async def test_no_terms_no_collections_no_depth_no_hits(shelf, dialect, connection) -> None:
    await shelf.add(["ice"])
    assert await found(dialect, connection, []) == []
    assert await found(dialect, connection, [""]) == []
    assert await found(dialect, connection, ["absent"]) == []
    assert await found(dialect, connection, ["ice"], collections=[]) == []
    assert await found(dialect, connection, ["ice"], collections=[999]) == []
    assert await found(dialect, connection, ["ice"], depth=0) == []


async def test_only_the_named_collections_are_searched(shelf, dialect, connection) -> None:
    other = await shelf.collection("other")
    here, there = await shelf.add(["ice"]), await shelf.add(["ice", "ice"], other)
    assert await found(dialect, connection, ["ice"]) == here
    assert await found(dialect, connection, ["ice"], collections=[other]) == there
    assert await found(dialect, connection, ["ice"], collections=[1, other]) == [*here, *there]


async def test_a_filter_keeps_what_it_says(shelf, dialect, connection) -> None:
    ids = await shelf.add(
        ["ice", "ice", "ice", "rock"],
        metadata=[{"v": "1.10"}, {"v": "1.1"}, {"tags": ["1.10"]}, {"v": "1.10"}],
    )
    condition = compile_filter(parse_filter({"v": "1.10"}), first=3)
    assert await found(dialect, connection, ["ice"], filtered=condition) == ids[:1]
    either = compile_filter(parse_filter({"or": [{"v": "1.1"}, {"tags": "1.10"}]}), first=3)
    assert await found(dialect, connection, ["ice"], filtered=either) == ids[1:3]
    nothing = compile_filter(parse_filter({"v": {"in": []}}), first=3)
    assert await found(dialect, connection, ["ice"], filtered=nothing) == []


@pytest.mark.parametrize("filter_", [None, {"v": 1}])
async def test_rows_read_along_are_those_of_the_hits(shelf, dialect, connection, filter_) -> None:
    """A dialect may leave them all to be read afterwards, but not some."""
    other = await shelf.collection("other")
    await shelf.add(["ice sea", "ice", "rock"], metadata=[{"v": 1}, {"v": 2}, {"v": 1}])
    await shelf.add(["ice ice sea"], other, metadata=[{"v": 1}])
    condition = compile_filter(parse_filter(filter_), first=3) if filter_ else None
    given = {"filtered": condition, "depth": 10}
    hits = await dialect.search(connection, ["ice", "sea"], [1, other], **given)
    chunks: dict[int, StoredChunk] = {}
    assert hits == await dialect.search(
        connection, ["ice", "sea"], [1, other], chunks=chunks, **given
    )
    expected = await load_chunks(connection, [hit.chunk_id for hit in hits], indexed=False)
    assert len(expected) == (2 if filter_ else 3)
    assert chunks in ({}, expected)
    assert chunks or dialect.name == "paradedb"


async def test_depth_bounds_and_continues(shelf, dialect, connection) -> None:
    await shelf.add([f"ice {'sea ' * (n % 7)}".strip() for n in range(60)])
    everything = await found(dialect, connection, ["ice", "sea"], depth=1_000)
    assert len(everything) == 60
    assert await found(dialect, connection, ["ice", "sea"], depth=25) == everything[:25]


async def test_changes_are_seen_at_once(shelf, dialect, connection) -> None:
    ids = await shelf.add(["ice", "ice sea", "rock"])
    await connection.execute("DELETE FROM chunks WHERE id = $1", ids[0])
    await connection.execute("UPDATE chunks SET lexical_text = 'ice' WHERE id = $1", ids[2])
    await connection.execute("UPDATE chunks SET lexical_text = 'moss' WHERE id = $1", ids[1])
    assert await found(dialect, connection, ["ice"]) == ids[2:]


@pytest.mark.parametrize(
    "text",
    [
        "Robert'); DROP TABLE x; --",
        "100% _under_score $$quoted$$ $1 :name",
        'back\\slash \\\' "quote" {brace} [x] (1)23',
        "C++ a + b <tag ^z ~q a/b a.bcd",
        "日本語の検索 ภาษาไทย",
    ],
)
async def test_user_text_is_plain_words(shelf, dialect, connection, text: str) -> None:
    """B037, B031: nothing in a text or query is taken for SQL or for a query language."""
    terms = analyser("english").terms(text)
    ids = await shelf.add([" ".join(terms), "other words"])
    assert await found(dialect, connection, analyser("english").query_terms(text)) == ids[:1]
    assert await found(dialect, connection, text.split() or ["x"], depth=3) in ([], ids[:1])
    assert await connection.fetchval("SELECT count(*) FROM chunks") == 2


async def test_words_of_any_length_are_stored(shelf, dialect, connection) -> None:
    """B011: an unbroken run of 100 kB is stored, and the words beside it are found."""
    blob = "QUJD" * 25_000
    terms = analyser("english").terms(f"before {blob} after")
    ids = await shelf.add([" ".join(terms), "rock"])
    assert await found(dialect, connection, analyser("english").query_terms("after")) == ids[:1]
    assert await found(dialect, connection, analyser("english").query_terms(blob)) == ids[:1]


async def test_a_page_of_distinct_terms_is_answered(shelf, dialect, connection) -> None:
    ids = await shelf.add(["w7", "rock"])
    assert await found(dialect, connection, [f"w{n}" for n in range(5_000)]) == ids[:1]


async def test_upkeep_changes_no_answer(shelf, dialect, connection) -> None:
    await shelf.add(["ice sea", "ice", "rock"])
    before = await dialect.search(connection, ["ice", "sea"], [1], depth=5)
    await dialect.maintain(connection)
    assert await dialect.prepare(connection) == []
    await dialect.rebuild(connection)
    assert await dialect.search(connection, ["ice", "sea"], [1], depth=5) == before
