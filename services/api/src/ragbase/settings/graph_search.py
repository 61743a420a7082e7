"""How searches use the entity graph."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ragbase.settings.base import Section, env

__all__ = ["GraphSearchSettings"]


class GraphSearchSettings(Section):
    """How searches use the entity graph."""

    graph_enabled: bool = Field(
        True,
        validation_alias=env("RAGBASE_GRAPH"),
        description="false: no graph arm, and graph search is answered 503.",
    )
    graph_timeout_s: float = Field(
        1.0,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_GRAPH_TIMEOUT"),
        description="Time budget of the graph arm, of graph search and of reads of the graph's shape, in seconds; a hybrid search goes on without it.",
    )
    graph_ner_timeout_s: float = Field(
        0.5,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_GRAPH_NER_TIMEOUT"),
        description="Longest that a search waits for the NER server to find names in its query, in seconds.",
    )
    graph_linker: Literal["lexical", "llm"] = Field(
        "lexical",
        validation_alias=env("RAGBASE_GRAPH_LINKER"),
        description="How names in queries are found where a request says nothing; llm asks a language model as well.",
    )
    graph_linker_timeout_s: float = Field(
        2.0,
        gt=0,
        le=3600,
        validation_alias=env("RAGBASE_GRAPH_LINKER_TIMEOUT"),
        description="Longest that a search waits for the language model's names, in seconds.",
    )
    communities_max: int = Field(
        200_000,
        ge=1,
        validation_alias=env("RAGBASE_COMMUNITIES_MAX"),
        description="Most nodes, and most relations, of a graph whose communities are computed (2 s, 100 MB).",
    )
