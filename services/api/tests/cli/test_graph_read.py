"""`ragbase concepts` and the reading commands of `ragbase graph`, against the real API."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from rich.console import Console
from typer.testing import Result

from ragbase.cli import console, graph_read
from ragbase.models.graph_search import GraphSearchResponse
from ragbase.sdk import Client

Run = Callable[..., Result]


@pytest.fixture
def drawn(client: Client, collection: str) -> dict[str, int]:
    """a → b → c, and one alone; ids."""
    ids = {
        name: client.concepts.put(name, type="Letter", collection=collection).id
        for name in ("a", "b", "c", "alone")
    }
    client.relations.put("a", "b", "to", collection=collection)
    client.relations.put("b", "c", "to", collection=collection)
    return ids


def said(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def test_concepts_are_drawn_listed_and_removed(run_live: Run, collection: str) -> None:
    here = ("-c", collection)
    made = json.loads(
        said(
            run_live(
                "concepts", "put", "BM25", "--type", "Method", "-d", "Okapi", *here,
                "--metadata", '{"k1": 1.2}', "--json",
            )
        )
    )[0]  # fmt: skip
    assert (made["name"], made["metadata"]) == ("BM25", {"k1": 1.2})
    said(run_live("concepts", "put", "Search", *here))
    assert "PART_OF" in said(run_live("concepts", "relate", "BM25", "part of", "Search", *here))
    table = said(run_live("concepts", "list", *here, "--text", "bm"))
    assert all(word in table for word in ("BM25", "Method", "Okapi"))
    assert "Search" not in table
    shown = said(run_live("concepts", "show", str(made["id"])))
    assert "PART_OF → Search" in shown
    (relation,) = json.loads(said(run_live("concepts", "relations", "Search", *here, "--json")))
    assert (relation["source"], relation["target"]) == ("BM25", "Search")
    assert "removed" in said(run_live("concepts", "unrelate", str(relation["id"])))
    assert "removed" in said(run_live("concepts", "delete", str(made["id"])))
    assert said(run_live("concepts", "relations", "Search", *here)).strip() == "No relations."
    assert said(run_live("concepts", "list", *here, "--type", "x")).strip() == "No concepts."


@pytest.mark.parametrize(
    "command", [["concepts", "put", "x"], ["concepts", "relate", "a", "b", "c"]]
)
def test_metadata_that_is_no_object_is_wrong_usage(run_live: Run, command: list[str]) -> None:
    result = run_live(*command, "--metadata", "[1]")
    assert (result.exit_code, "--metadata" in result.stderr) == (2, True)


def test_neighbours_and_paths_are_shown(run_live: Run, drawn: dict[str, int]) -> None:
    rows = json.loads(said(run_live("graph", "neighbours", str(drawn["a"]), "--json")))
    assert [(row["name"], row["depth"]) for row in rows] == [("b", 1), ("c", 2)]
    table = said(run_live("graph", "neighbours", str(drawn["a"]), "--depth", "1"))
    assert ("b" in table.split(), "c" in table.split()) == (True, False)
    none = said(run_live("graph", "neighbours", str(drawn["alone"])))
    assert none.strip() == "No neighbours."
    path = said(run_live("graph", "path", str(drawn["c"]), str(drawn["a"])))
    names = [line.split()[1] for line in path.strip().splitlines()[2:]]
    assert names == ["c", "b", "a"]
    missing = run_live("graph", "path", str(drawn["a"]), str(drawn["alone"]))
    assert (missing.exit_code, "No path found" in missing.stderr) == (1, True)


def test_communities_and_counts_are_shown(
    run_live: Run, drawn: dict[str, int], collection: str
) -> None:
    table = said(run_live("graph", "communities", "-c", collection))
    lines = [line.split() for line in table.strip().splitlines()[2:]]
    assert lines == [["-1", "1", "alone"], ["0", "3", "a,", "b,", "c"]]
    assert "Nothing in this graph." in said(
        run_live("graph", "communities", "-c", collection, "--kind", "entity")
    )
    counts = json.loads(said(run_live("graph", "stats", "-c", collection, "--json")))
    assert (counts["concepts"], counts["relations"]) == (4, 2)
    table = said(run_live("graph", "stats", "-c", collection))
    assert table.split()[-6:] == ["concepts", "4", "2", "entities", "0", "0"]


def test_a_graph_search_says_what_it_found(run_live: Run, collection: str) -> None:
    said_json = said(run_live("graph", "search", "Ada Lovelace", "-c", collection, "--json"))
    assert json.loads(said_json)["query"] == "Ada Lovelace"
    assert "0 entities named" in said(run_live("graph", "search", "Ada", "-c", collection))
    assert run_live("graph", "search", "x", "--filter", "{oops").exit_code == 2


def test_an_answer_of_the_graph_is_safe_to_print(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and texts come from documents: no control characters, no markup."""
    answer = GraphSearchResponse.model_validate(
        {
            "query": "q",
            "matched_entities": [
                {
                    "id": "Ada", "name": "Ada\x1b[2J", "type": "[bold]person", "match_score": 1,
                    "match_method": "alias", "source_phrase": "ada",
                }
            ],
            "subgraph": {
                "nodes": [],
                "edges": [
                    {"source": "Ada", "target": "[red]B", "relation": "Ada knew B.\nx",
                     "weight": 1, "keywords": None}
                ],
            },
            "chunks": [
                {"chunk_id": 1, "doc_id": 1, "lightrag_chunk_hash": "chunk-1", "text": "t" * 300,
                 "source_entities": ["Ada"], "document_title": "[i]Letters"}
            ],
            "trace": {
                "latency_ms": 1.25, "ner_ms": 0, "graph_ms": 0, "chunk_bridge_ms": 0,
                "n_ner_entities": 1, "n_matched_nodes": 1, "n_subgraph_nodes": 2,
                "n_subgraph_edges": 1,
            },
            "warnings": [{"code": "ner_unavailable", "message": "no\x07 NER", "stage": "graph"}],
        }
    )  # fmt: skip
    written = io.StringIO()
    monkeypatch.setattr(
        console, "stdout", lambda: Console(file=written, width=200, highlight=False)
    )
    graph_read._show_search(answer)
    text = written.getvalue()
    assert "\x1b" not in text
    assert "\x07" not in text
    for part in (
        "! no  NER (ner_unavailable)", "Ada [2J", "[bold]person", "by alias of “ada”",
        "Ada → [red]B  Ada knew B.", "[i]Letters", "t" * 160 + " …",
        "1 entities named, 2 nodes, 1 relations, 1 chunks · 1.2 ms",
    ):  # fmt: skip
        assert part in text, part
