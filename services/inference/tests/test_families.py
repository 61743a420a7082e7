"""Prefixes by family, for models whose files say nothing."""

from __future__ import annotations

import pytest

from ragbase_inference.families import Prefixes, family_prefixes

SEARCH = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("name", "prefixes"),
    [
        ("intfloat/multilingual-e5-large", Prefixes("query: ", "passage: ")),
        ("intfloat/e5-base-v2@main", Prefixes("query: ", "passage: ")),
        ("/models/e5-small/", Prefixes("query: ", "passage: ")),
        ("BAAI/bge-small-en-v1.5", Prefixes(SEARCH)),
        ("BAAI/bge-m3", Prefixes()),
        ("Snowflake/snowflake-arctic-embed-l-v2.0", Prefixes("query: ")),
        ("Snowflake/snowflake-arctic-embed-s", Prefixes(SEARCH)),
        ("sentence-transformers/all-MiniLM-L6-v2", Prefixes()),
        ("someone/cafe5-large", Prefixes()),
    ],
)
def test_family(name: str, prefixes: Prefixes) -> None:
    assert family_prefixes(name) == prefixes


def test_e5_instruct_asks_by_instruction_and_leaves_passages_alone() -> None:
    prefixes = family_prefixes("intfloat/multilingual-e5-large-instruct")
    assert prefixes.query.startswith("Instruct: ")
    assert prefixes.query.endswith("\nQuery: ")
    assert prefixes.passage == ""
