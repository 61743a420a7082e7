"""What a search does where its request says nothing."""

from __future__ import annotations

from pydantic import Field

from ragbase.limits import ARM_DEPTH_DEFAULT, ARM_DEPTH_MAX
from ragbase.settings.base import Section, env

__all__ = ["SearchSettings"]


class SearchSettings(Section):
    """What a search does where its request says nothing."""

    default_search_top_k: int = Field(
        20,
        ge=1,
        le=100,
        validation_alias=env("DEFAULT_SEARCH_TOP_K"),
        description="top_k where a request gives none.",
    )
    default_rerank_candidates: int = Field(
        50,
        ge=1,
        le=200,
        validation_alias=env("DEFAULT_RERANK_CANDIDATES"),
        description="rerank_candidates where a request gives none.",
    )
    default_min_score: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        validation_alias=env("DEFAULT_MIN_SCORE"),
        description="min_score where a request gives none.",
    )
    default_candidates: int = Field(
        ARM_DEPTH_DEFAULT,
        ge=1,
        le=ARM_DEPTH_MAX,
        validation_alias=env("RAGBASE_DEFAULT_CANDIDATES"),
        description="Rows each arm gives to fusion where a request says nothing.",
    )
    search_timeout_s: float = Field(
        30.0,
        gt=0,
        validation_alias=env("RAGBASE_SEARCH_TIMEOUT"),
        description="Time budget of one arm, in seconds.",
    )
