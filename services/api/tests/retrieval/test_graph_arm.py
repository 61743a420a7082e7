"""The graph arm in the database: what it finds, what it leaves alone, and how much it counts."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from ragbase.errors import DeadlineExceededError
from ragbase.graph.linking import Phrase
from ragbase.graph.presence import GraphPresence
from ragbase.models.domain import Hit
from ragbase.models.extraction import EntityFact
from ragbase.models.filters import parse_filter
from ragbase.retrieval.arms import ArmAbsent, ArmQuery
from ragbase.retrieval.graph_arm import GraphArm
from ragbase.retrieval.query_names import QueryNames
from ragbase.retrieval.trace import Trace
from ragbase.storage.chunks import document_ids
from ragbase.storage.pool import Connection, Database

from ..graph_rows import add_document, collection


async def ask(
    db: Database,
    query: str,
    *,
    collections: tuple[str, ...] = ("default",),
    names: QueryNames | None = None,
    timeout_s: float = 30.0,
    **fields: Any,
) -> tuple[list[Hit], Trace]:
    async with db.acquire() as connection:
        found = [await collection(connection, name) for name in collections]
    trace = fields.pop("trace", None) or Trace()
    arm = GraphArm(db, GraphPresence(db), names or QueryNames(), timeout_s)
    asked = ArmQuery(query, found, fields.pop("filter", None), 200, 0.0, trace, **fields)
    return await arm.retrieve(asked), trace


async def documents(connection: Connection, hits: list[Hit]) -> list[int]:
    owners = await document_ids(connection, [hit.chunk_id for hit in hits])
    return list(dict.fromkeys(owners[hit.chunk_id] for hit in hits))


async def test_a_chunk_that_shares_no_word_with_the_query_is_reached(
    db: Database, connection: Connection
) -> None:
    """Two hops: the query names the film, the film's chunk its singer, the singer's his home."""
    film = await add_document(connection, ("film", ["Hello Love", "Hank Snow"], []))
    singer = await add_document(connection, ("singer", ["Hank Snow", "Tennessee"], []))
    await add_document(connection, ("elsewhere", ["Publix"], []))
    hits, trace = await ask(db, "Where did the star of Hello Love live?")
    assert await documents(connection, hits) == [film, singer]
    assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))
    assert 0.0 < trace.gates["graph"] < 1.0


async def test_one_name_with_two_types_leads_to_both_documents(
    db: Database, connection: Connection
) -> None:
    """B085: a concept in one document, a technology in another; one node, both contexts."""
    one = await add_document(connection, ("a", [EntityFact("Raft", "concept")], []))
    two = await add_document(connection, ("b", [EntityFact("raft", "technology")], []))
    hits, _ = await ask(db, "How does Raft elect leaders?")
    assert await documents(connection, hits) == [one, two]


async def test_a_hub_neither_floods_nor_slows(db: Database, connection: Connection) -> None:
    """B089: 2,000 documents name one company; what else the query names leads, in bounded time."""
    await connection.execute(
        """
        WITH d AS (
            INSERT INTO documents (title, content, collection_id)
            SELECT 'Report ' || n, 'x', 1 FROM generate_series(1, 2000) n RETURNING id
        ), c AS (
            INSERT INTO chunks (document_id, collection_id, chunk_index, content, indexed_content)
            SELECT id, 1, 0, 'x', 'x' FROM d RETURNING id, document_id
        ), e AS (
            INSERT INTO entities (collection_id, normal_name, name) VALUES (1, 'acme corp', 'Acme Corp')
            RETURNING id
        )
        INSERT INTO mentions (chunk_id, entity_id, document_id, collection_id)
        SELECT c.id, e.id, c.document_id, 1 FROM c, e
        """
    )
    wanted = await add_document(connection, ("w", ["Acme Corp", "Reykjavik Office"], []))
    await connection.execute("ANALYZE")
    hits, trace = await ask(db, "Who leads Acme Corp at the Reykjavik Office?")
    assert await documents(connection, hits) == [wanted]
    assert trace.gates["graph"] > 0.0
    started = time.perf_counter()
    alone, lone = await ask(db, "Who leads Acme Corp today?")
    assert time.perf_counter() - started < 2.0
    assert (alone, lone.gates["graph"]) == ([], 0.0)


async def test_a_question_that_names_little_leaves_the_arm_out_of_fusion(
    db: Database, connection: Connection
) -> None:
    await add_document(connection, ("a", ["Temperature"], []))
    query = "temperature of boundary layers over blunt bodies at hypersonic speed under heavy load"
    hits, trace = await ask(db, query)
    assert hits
    assert trace.gates["graph"] == 0.0


async def test_a_filter_is_kept_on_every_hop(db: Database, connection: Connection) -> None:
    one = await add_document(connection, ("a", ["Alpha Base", "Bridge One"], []), metadata={"n": 1})
    await add_document(connection, ("b", ["Bridge One", "Bridge Two"], []), metadata={"n": 2})
    await add_document(connection, ("c", ["Bridge Two"], []), metadata={"n": 1})
    hits, _ = await ask(db, "Who built Alpha Base there?", filter=parse_filter({"n": 1}))
    assert await documents(connection, hits) == [one]


async def test_other_collections_are_never_crossed(db: Database, connection: Connection) -> None:
    other = await collection(connection, "other")
    mine = await add_document(connection, ("a", ["Alpha Base", "Shared Name"], []))
    await add_document(connection, ("b", ["Shared Name", "Theirs"], []), collection_id=other.id)
    hits, _ = await ask(db, "Who built Alpha Base with the Shared Name?")
    assert await documents(connection, hits) == [mine]


async def test_an_empty_graph_costs_one_look_and_says_nothing(
    db: Database, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    presence = GraphPresence(db)
    looks = 0
    look = presence._look

    async def counted(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        return await look(*args)

    monkeypatch.setattr(presence, "_look", counted)
    default = await collection(connection)
    arm = GraphArm(db, presence, QueryNames(), 1.0)
    for _ in range(3):
        trace = Trace()
        with pytest.raises(ArmAbsent):
            await arm.retrieve(ArmQuery("Who is Ada?", [default], None, 200, 0.0, trace))
        assert (trace.warnings, trace.seconds, trace.gates) == ([], {}, {"graph": 0.0})
    assert looks == 1


async def test_an_empty_graph_is_told_of_where_the_request_asked_for_it(db: Database) -> None:
    trace = Trace()
    with pytest.raises(ArmAbsent):
        await ask(db, "Who is Ada?", trace=trace, graph_asked=True)
    assert [warning.code for warning in trace.warnings] == ["graph_unavailable"]
    assert trace.failures == []


async def test_beyond_the_time_budget_the_arm_gives_up(
    db: Database, connection: Connection
) -> None:
    await add_document(connection, ("a", ["Alpha Base"], []))
    async with db.transaction() as blocker:
        await blocker.execute("LOCK TABLE mentions IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(TimeoutError):
            await ask(db, "Who built Alpha Base?", timeout_s=0.2)


class Late:
    """A model that does not answer in time."""

    async def phrases(self, query: str, labels: Any = ()) -> list[Phrase]:
        await asyncio.sleep(0)
        raise DeadlineExceededError("It took too long.", code="ner_timeout")


async def test_a_model_that_is_late_leaves_the_lexical_linker(
    db: Database, connection: Connection
) -> None:
    document = await add_document(connection, ("a", ["Alpha Base"], []))
    hits, trace = await ask(db, "Who built Alpha Base?", names=QueryNames(ner=Late()))
    assert await documents(connection, hits) == [document]
    assert [warning.code for warning in trace.warnings] == ["ner_timeout"]
    assert trace.failures == ["ner_timeout"]


async def test_a_language_model_that_is_not_there_is_told_of(
    db: Database, connection: Connection
) -> None:
    document = await add_document(connection, ("a", ["Alpha Base"], []))
    hits, trace = await ask(db, "Who built Alpha Base?", llm_linker=True)
    assert await documents(connection, hits) == [document]
    assert [warning.code for warning in trace.warnings] == ["linker_unavailable"]
