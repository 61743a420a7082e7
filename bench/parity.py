"""Keyword search over HTTP against bm25s on the same tokens, on a judged set.

Method. The collection must hold the set (``ragbase eval SET --collection NAME``). The chunks'
analysed terms are read from the database and indexed with bm25s (Lucene, k1 1.2, b 0.75); both
rank chunks, a document counts at its best one. The difference shows what the SQL or the API would
lose against an independent implementation.

Usage: python -m bench.parity SET_FOLDER --collection NAME --url URL --database-url URL
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

import asyncpg
import bm25s

from ragbase.evaluation.dataset import load_dataset
from ragbase.evaluation.measures import average, document_ranking, score_queries
from ragbase.sdk import Client
from ragbase.text.analyse import analyser

DEPTH = 50


async def read_chunks(dsn: str, collection: str) -> tuple[list[str], list[list[str]]]:
    """External document ids and terms of all chunks, in order of chunk id."""
    connection = await asyncpg.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT d.external_id, c.lexical_text FROM chunks c "
            "JOIN documents d ON d.id = c.document_id "
            "JOIN collections k ON k.id = c.collection_id WHERE k.name = $1 ORDER BY c.id",
            collection,
        )
    finally:
        await connection.close()
    return [row[0] for row in rows], [row[1].split(" ") for row in rows]


def reference(
    documents: list[str], terms: list[list[str]], queries: dict[str, list[str]]
) -> dict[str, list[str]]:
    """Rankings of documents by bm25s."""
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(terms, show_progress=False)
    rankings = {}
    for query_id, query in queries.items():
        known = [term for term in query if term in index.vocab_dict]
        found, _ = index.retrieve([known], k=min(DEPTH, len(terms)), show_progress=False)
        rankings[query_id] = document_ranking(documents[int(row)] for row in found[0])
    return rankings


def served(url: str, collection: str, queries: dict[str, str]) -> dict[str, list[str]]:
    """Rankings of documents by the API's keyword search."""
    rankings = {}
    with Client(url) as client:
        for query_id, text in queries.items():
            answer = client.search(text, mode="keyword", top_k=DEPTH, collection=collection)
            rankings[query_id] = document_ranking(str(row.external_id) for row in answer.results)
    return rankings


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--collection", required=True)
    parser.add_argument("--url", default="http://127.0.0.1:5050")
    parser.add_argument("--database-url", required=True)
    arguments = parser.parse_args()
    dataset = load_dataset(arguments.folder)
    texts = {query.id: query.text for query in dataset.queries}
    documents, terms = asyncio.run(read_chunks(arguments.database_url, arguments.collection))
    words = analyser("english")
    rankings = {
        "api": served(arguments.url, arguments.collection, texts),
        "bm25s": reference(
            documents, terms, {key: words.query_terms(text) for key, text in texts.items()}
        ),
    }
    scores = {
        name: average(score_queries(found, dataset.qrels).values())["nDCG@10"]
        for name, found in rankings.items()
    }
    print(json.dumps(scores | {"difference": abs(scores["api"] - scores["bm25s"])}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
