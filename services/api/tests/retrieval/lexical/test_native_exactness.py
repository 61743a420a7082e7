"""The native dialect's scores are BM25's, whatever was written, changed and deleted before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragbase.retrieval.filters import Condition
from ragbase.retrieval.lexical.native import NativeDialect

WORDS = st.sampled_from(
    ["ice", "sea", "fire", "rock", "moss", "rare", "日本", "o'neil", "%_", "\\x"]
)
TEXT = st.lists(WORDS, max_size=12).map(" ".join)
NATIVE = NativeDialect()


@dataclass(frozen=True)
class Story:
    """Texts of two collections, what happens to them, and a query."""

    texts: list[tuple[int, str]]
    changes: list[tuple[int, str]]
    moved: list[int]
    deleted: list[int]
    query: list[str]
    depth: int


def stories() -> st.SearchStrategy[Story]:
    index = st.integers(0, 30)
    return st.builds(
        Story,
        texts=st.lists(st.tuples(st.integers(0, 1), TEXT), min_size=1, max_size=12),
        changes=st.lists(st.tuples(index, TEXT), max_size=4),
        moved=st.lists(index, max_size=3),
        deleted=st.lists(index, max_size=4),
        query=st.lists(WORDS, min_size=1, max_size=6),
        depth=st.integers(1, 15),
    )


async def play(shelf, collections: Sequence[int], story: Story) -> dict[int, tuple[int, str]]:
    """Write the story; returns collection and text of each chunk that is left."""
    chunks: dict[int, tuple[int, str]] = {}
    for place in (0, 1):
        texts = [text for which, text in story.texts if which == place]
        for chunk, text in zip(await shelf.add(texts, collections[place]), texts, strict=True):
            chunks[chunk] = (collections[place], text)
    ids = list(chunks)
    execute = shelf.connection.execute
    for index, text in story.changes:
        chunk = ids[index % len(ids)]
        await execute("UPDATE chunks SET lexical_text = $2 WHERE id = $1", chunk, text)
        chunks[chunk] = (chunks[chunk][0], text)
    moved = {ids[index % len(ids)] for index in story.moved}
    await execute(
        "UPDATE chunks SET collection_id = $2 WHERE id = ANY($1)", list(moved), collections[1]
    )
    chunks |= {chunk: (collections[1], chunks[chunk][1]) for chunk in moved}
    deleted = {ids[index % len(ids)] for index in story.deleted}
    await execute("DELETE FROM chunks WHERE id = ANY($1)", list(deleted))
    return {chunk: value for chunk, value in chunks.items() if chunk not in deleted}


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(story=stories())
async def test_scores_are_exact_after_any_history(story: Story, shelf, reference) -> None:
    bm25, assert_ranking = reference
    transaction = shelf.connection.transaction()
    await transaction.start()
    try:
        places = [1, await shelf.collection("other")]
        left = await play(shelf, places, story)
        for chosen in ([places[0]], [places[1]], places):
            texts = {c: text for c, (place, text) in left.items() if place in chosen}
            hits = await NATIVE.search(shelf.connection, story.query, chosen, depth=story.depth)
            found = [(hit.chunk_id, hit.score) for hit in hits]
            assert_ranking(found, bm25(texts, story.query), story.depth)
    finally:
        await transaction.rollback()


async def test_filter_keeps_scores_of_the_whole_collection(shelf, reference) -> None:
    """A filter takes chunks away; document frequencies stay those of the collection."""
    bm25, assert_ranking = reference
    texts = [f"ice {'sea ' * (n % 4)}word{n}" for n in range(50)]
    ids = await shelf.add(texts, metadata=[{"odd": n % 2} for n in range(50)])
    expected = bm25(dict(zip(ids, texts, strict=True)), ["ice", "sea"])
    odd = Condition("c.metadata @> $3::text::jsonb", ['{"odd": 1}'])
    hits = await NATIVE.search(shelf.connection, ["ice", "sea"], [1], filtered=odd, depth=40)
    assert_ranking(
        [(hit.chunk_id, hit.score) for hit in hits],
        {chunk: score for n, (chunk, score) in enumerate(sorted(expected.items())) if n % 2},
        40,
    )
    nothing = Condition("c.metadata @> $3::text::jsonb", ['{"odd": 2}'])
    assert await NATIVE.search(shelf.connection, ["ice"], [1], filtered=nothing, depth=5) == []


async def test_long_chunks_keep_their_counts(shelf, reference) -> None:
    """Postgres' own tsvector stops at 256 positions a word; postings do not."""
    bm25, assert_ranking = reference
    texts = ["ice " * 5_000 + "sea", "ice " * 300, "ice sea", "rock"]
    ids = await shelf.add([text.strip() for text in texts])
    hits = await NATIVE.search(shelf.connection, ["ice", "sea"], [1], depth=10)
    expected = bm25(dict(zip(ids, texts, strict=True)), ["ice", "sea"])
    assert_ranking([(hit.chunk_id, hit.score) for hit in hits], expected, 10)


async def test_equal_scores_order_by_chunk_id(shelf) -> None:
    ids = await shelf.add(["b a c", "c b a", "a b c", "x y z"] * 20)
    hits = await NATIVE.search(shelf.connection, ["c", "a", "b"], [1], depth=60)
    tied = [chunk for n, chunk in enumerate(ids) if n % 4 != 3]
    assert [hit.chunk_id for hit in hits] == tied
    assert len({hit.score for hit in hits}) == 1


async def test_equal_chunks_tie_across_collections(shelf) -> None:
    other = await shelf.collection("other")
    first = await shelf.add(["a b c d e f", "x"], other)
    second = await shelf.add(["a b c d e f", "y"], 1)
    hits = await NATIVE.search(shelf.connection, list("fbdace"), [1, other], depth=5)
    assert [hit.chunk_id for hit in hits] == [first[0], second[0]]
    assert hits[0].score == hits[1].score


async def test_a_collection_named_twice_counts_once(shelf) -> None:
    await shelf.add(["ice sea", "ice", "rock"])
    once = await NATIVE.search(shelf.connection, ["ice"], [1], depth=5)
    assert await NATIVE.search(shelf.connection, ["ice"], [1, 1], depth=5) == once
