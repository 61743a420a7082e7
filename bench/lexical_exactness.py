"""Exactness and ranking quality of the native dialect, before and after random churn."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ir_measures
from ir_measures import nDCG

from bench.corpus import read_jsonl
from bench.lexical_reference import Reference, agrees
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.storage.pool import Connection
from ragbase.text.analyse import analyser

__all__ = ["cranfield_exactness", "exact_share", "random_churn"]

NATIVE = NativeDialect()
DEPTH = 10


async def _chunks(connection: Connection, collections: Sequence[int]) -> dict[int, str]:
    rows = await connection.fetch(
        "SELECT id, lexical_text FROM chunks WHERE collection_id = ANY($1::bigint[]) ORDER BY id",
        list(collections),
    )
    return {row[0]: row[1] for row in rows}


async def exact_share(
    connection: Connection, queries: Sequence[Sequence[str]], collections: Sequence[int]
) -> float:
    """Share of queries whose first ten agree with the reference over the same collections."""
    vocabulary = {term for query in queries for term in query}
    reference = Reference(await _chunks(connection, collections), vocabulary)
    right = 0
    for query in queries:
        hits = await NATIVE.search(connection, query, collections, depth=DEPTH)
        found = [(hit.chunk_id, hit.score) for hit in hits]
        right += agrees(found, reference.ids, reference.scores(query), DEPTH)
    return right / len(queries)


async def random_churn(connection: Connection, collections: Sequence[int], seed: int = 5) -> None:
    """Delete 5 % of the chunks; change the terms of 3 % and move a third of these elsewhere."""
    chance = random.Random(seed)
    ids = list(await _chunks(connection, collections))
    chance.shuffle(ids)
    deleted, changed = ids[: len(ids) // 20], ids[len(ids) // 20 :][: len(ids) * 3 // 100]
    await connection.execute("DELETE FROM chunks WHERE id = ANY($1::bigint[])", deleted)
    await connection.execute(
        "UPDATE chunks c SET lexical_text = o.lexical_text FROM chunks o "
        "WHERE o.id = (SELECT min(id) + c.id % 100 FROM chunks) AND c.id = ANY($1::bigint[])",
        changed,
    )
    await connection.execute(
        "UPDATE chunks SET collection_id = $2 WHERE id = ANY($1::bigint[])",
        changed[: len(changed) // 3],
        chance.choice(list(collections)),
    )


async def cranfield_exactness(connection: Connection, folder: Path) -> dict[str, Any]:
    """All judged queries over Cranfield's documents, in two collections; and nDCG@10."""
    collections = [
        await connection.fetchval("INSERT INTO collections (name) VALUES ($1) RETURNING id", name)
        for name in ("cranfield-a", "cranfield-b")
    ]
    names = await _load_cranfield(connection, folder, collections)
    rows = list(read_jsonl(folder / "cranfield" / "queries.jsonl"))
    queries = [analyser("english").query_terms(row["text"]) for row in rows]
    report: dict[str, Any] = {"queries": len(queries)}
    run: dict[str, dict[str, float]] = {}
    for row, query in zip(rows, queries, strict=True):
        hits = await NATIVE.search(connection, query, collections, depth=DEPTH)
        run[row["_id"]] = {names[hit.chunk_id]: hit.score for hit in hits}
    qrels = _qrels(folder / "cranfield" / "qrels.tsv")
    report["ndcg@10"] = float(ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10])
    for moment in ("fresh", "churned"):
        if moment == "churned":
            await random_churn(connection, collections)
        for label, chosen in (("all", collections), ("one", collections[:1])):
            report[f"exact {moment} {label}"] = await exact_share(connection, queries, chosen)
    await NATIVE.maintain(connection)
    report["exact folded all"] = await exact_share(connection, queries, collections)
    await connection.execute("DELETE FROM collections WHERE id = ANY($1::bigint[])", collections)
    return report


async def _load_cranfield(
    connection: Connection, folder: Path, collections: Sequence[int]
) -> dict[int, str]:
    """One chunk a document, every third in the second collection; names by chunk id."""
    terms = analyser("english").terms
    names: dict[int, str] = {}
    for number, row in enumerate(read_jsonl(folder / "cranfield" / "corpus.jsonl")):
        collection = collections[number % 3 == 2]
        chunk = await connection.fetchval(
            "WITH d AS (INSERT INTO documents (collection_id, title, content) "
            "VALUES ($1, $2, '') RETURNING id) "
            "INSERT INTO chunks (document_id, collection_id, chunk_index, content, "
            "indexed_content, lexical_text) SELECT id, $1, 0, '', '', $3 FROM d RETURNING id",
            collection,
            row["title"],
            " ".join(terms(f"{row['title']}\n{row['text']}")),
        )
        names[chunk] = row["_id"]
    return names


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        qrels.setdefault(query, {})[document] = int(grade)
    return qrels
