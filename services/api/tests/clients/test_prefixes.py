"""Prefixes by model family."""

from __future__ import annotations

import pytest

from ragbase.clients.prefixes import prefixes_for

REPRESENT = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("model", "query", "passage"),
    [
        ("Snowflake/snowflake-arctic-embed-l-v2.0", "query: ", ""),
        ("Snowflake/snowflake-arctic-embed-m-v1.5", REPRESENT, ""),
        ("Snowflake/snowflake-arctic-embed-xs", REPRESENT, ""),
        ("intfloat/e5-base-v2", "query: ", "passage: "),
        ("intfloat/multilingual-e5-large", "query: ", "passage: "),
        ("BAAI/bge-small-en-v1.5", REPRESENT, ""),
        ("BAAI/bge-m3", "", ""),
        ("nomic-ai/nomic-embed-text-v1.5", "search_query: ", "search_document: "),
        ("/data/models/e5-small-v2/", "query: ", "passage: "),
        ("sentence-transformers/all-MiniLM-L6-v2", "", ""),
        ("text-embedding-3-small", "", ""),
        ("acme/legal-e5-base", "query: ", "passage: "),
        ("acme/e5", "", ""),
        ("acme/rage5-base", "", ""),
        ("", "", ""),
    ],
)
def test_families(model: str, query: str, passage: str) -> None:
    assert prefixes_for(model) == (query, passage)


def test_instructed_models_get_a_task() -> None:
    assert prefixes_for("Qwen/Qwen3-Embedding-0.6B").query.endswith("answer the query\nQuery:")
    assert prefixes_for("intfloat/multilingual-e5-large-instruct").query.endswith("Query: ")
    assert prefixes_for("intfloat/multilingual-e5-large-instruct").passage == ""


def test_settings_win_even_when_empty() -> None:
    assert prefixes_for("intfloat/e5-base-v2", query="", passage="p: ") == ("", "p: ")


def test_the_inference_server_knows_the_same_families() -> None:
    """The same model must get the same prefixes in this process and behind a server."""
    families = pytest.importorskip("ragbase_inference.families")
    for model in (
        "Snowflake/snowflake-arctic-embed-l-v2.0",
        "Snowflake/snowflake-arctic-embed-m",
        "intfloat/e5-large-v2",
        "intfloat/multilingual-e5-large-instruct",
        "BAAI/bge-base-en-v1.5",
        "BAAI/bge-small-zh",
        "BAAI/bge-m3",
        "mixedbread-ai/mxbai-embed-large-v1",
        "nomic-ai/nomic-embed-text-v1.5",
        "sentence-transformers/all-MiniLM-L6-v2",
    ):
        other = families.family_prefixes(model)
        assert prefixes_for(model) == (other.query, other.passage), model
