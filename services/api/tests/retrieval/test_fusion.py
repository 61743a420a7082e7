"""Fusion: the formulas, and the properties that paging and users rely on."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ragbase.models.domain import ArmName, Hit
from ragbase.models.fusion import read_fusion
from ragbase.retrieval.fusion import (
    ARMS,
    DEFAULT_RRF,
    FusedHit,
    Fusion,
    Normalise,
    RrfFusion,
    WeightedFusion,
    counted_arms,
    fuse,
)

Rankings = dict[ArmName, list[Hit]]


def ranking(*chunks: int, scores: list[float] | None = None) -> list[Hit]:
    found = scores or [float(len(chunks) - n) for n in range(len(chunks))]
    return [Hit(chunk, score) for chunk, score in zip(chunks, found, strict=True)]


def weighted(**weights: float) -> WeightedFusion:
    return WeightedFusion.model_validate({"method": "weighted", "weights": weights})


EVEN = weighted(semantic=0.5, keyword=0.5)


def by_chunk(hits: list[FusedHit]) -> dict[int, float]:
    return {hit.chunk_id: hit.score for hit in hits}


# Reciprocal rank fusion


def test_rrf_sums_reciprocal_ranks() -> None:
    fused = fuse({"semantic": ranking(7, 8), "keyword": ranking(8, 9)})
    assert [hit.chunk_id for hit in fused] == [8, 7, 9]
    assert by_chunk(fused) == pytest.approx({8: 1 / 62 + 1 / 61, 7: 1 / 61, 9: 1 / 62})
    assert fused[0] == FusedHit(8, fused[0].score, ("semantic", "keyword"))


def test_k_is_the_requests() -> None:
    fused = fuse({"semantic": ranking(1)}, RrfFusion(k=1))
    assert fused[0].score == 0.5


def test_equal_sums_are_ordered_by_chunk_id() -> None:
    """R37."""
    fused = fuse({"semantic": ranking(9, 3), "keyword": ranking(3, 9)})
    assert fused[0].score == fused[1].score
    assert [hit.chunk_id for hit in fused] == [3, 9]


def test_a_chunk_named_twice_by_an_arm_counts_once() -> None:
    assert fuse({"keyword": ranking(5, 6, 5)}) == fuse({"keyword": ranking(5, 6)})


# Weighted sum


def test_scores_are_scaled_by_the_best_of_each_arm() -> None:
    fused = fuse(
        {
            "semantic": ranking(1, 2, 3, scores=[0.8, 0.4, 0.2]),
            "keyword": ranking(3, 1, scores=[20, 5]),
        },
        weighted(semantic=3, keyword=1),
    )
    assert by_chunk(fused) == pytest.approx({1: 0.8125, 2: 0.375, 3: 0.4375})


def test_scores_may_be_scaled_by_the_worst_of_each_arm_too() -> None:
    fused = fuse(
        {
            "semantic": ranking(1, 2, 3, scores=[0.9, 0.5, 0.1]),
            "keyword": ranking(3, 1, scores=[20, 4]),
        },
        weighted(semantic=3, keyword=1),
        normalise="observed",
    )
    assert by_chunk(fused) == pytest.approx({1: 0.75, 2: 0.375, 3: 0.25})


def test_equal_scores_are_all_the_best() -> None:
    assert by_chunk(fuse({"keyword": ranking(1, 2, scores=[3, 3])}, EVEN)) == {1: 0.5, 2: 0.5}
    assert by_chunk(fuse({"keyword": ranking(1, scores=[0])}, EVEN)) == {1: 0.5}


def test_the_last_row_of_a_short_list_counts_more_than_an_absent_one() -> None:
    rankings: Rankings = {"keyword": ranking(1, 2, scores=[4, 1])}
    assert by_chunk(fuse(rankings, EVEN)) == {1: 0.5, 2: 0.125}
    assert by_chunk(fuse(rankings, EVEN, normalise="observed")) == {1: 0.5, 2: 0.0}


def test_a_score_does_not_depend_on_the_depth_of_the_arms() -> None:
    deep = ranking(1, 2, 3, 4, scores=[9, 6, 3, 1])
    cut = by_chunk(fuse({"keyword": deep[:2]}, EVEN))
    assert cut.items() <= by_chunk(fuse({"keyword": deep}, EVEN)).items()


def test_negative_cosines_are_worth_nothing() -> None:
    rankings: Rankings = {"semantic": ranking(1, 2, scores=[0.5, -0.5])}
    assert by_chunk(fuse(rankings, EVEN)) == {1: 0.5, 2: 0.0}


def test_an_arm_without_weight_adds_no_rows() -> None:
    fused = fuse({"semantic": ranking(1), "keyword": ranking(2)}, weighted(semantic=1))
    assert by_chunk(fused) == {1: 1.0}


# Both

hits = st.lists(
    st.tuples(
        st.integers(1, 12), st.sampled_from([0.0, 0.1, 0.1, 1.0, -0.5, 7.25]) | st.floats(-1, 50)
    ),
    max_size=10,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: [Hit(c, s) for c, s in sorted(pairs, key=lambda p: (-p[1], p[0]))])
rankings = st.dictionaries(st.sampled_from(ARMS), hits)
fusions: st.SearchStrategy[Fusion] = st.one_of(
    st.builds(RrfFusion, k=st.integers(1, 100)),
    st.fixed_dictionaries(
        {},
        optional={arm: st.sampled_from([0.0, 0.5, 1.0, 3.0]) | st.floats(0, 100) for arm in ARMS},
    )
    .filter(lambda weights: any(weights.values()))
    .map(lambda weights: weighted(**weights)),
)
normalises: st.SearchStrategy[Normalise] = st.sampled_from(["observed", "theoretical"])


@given(rankings, fusions, normalises)
def test_the_order_of_the_arms_does_not_matter(
    found: Rankings, fusion: Fusion, normalise: Normalise
) -> None:
    """R37."""
    expected = fuse(found, fusion, normalise=normalise)
    for arms in permutations(found):
        assert fuse({arm: found[arm] for arm in arms}, fusion, normalise=normalise) == expected


@given(rankings, fusions, normalises)
def test_rows_are_ordered_complete_distinct_and_bounded(
    found: Rankings, fusion: Fusion, normalise: Normalise
) -> None:
    fused = fuse(found, fusion, normalise=normalise)
    assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))
    asked = [
        arm for arm in ARMS if isinstance(fusion, RrfFusion) or fusion.weights.get(arm, 0.0) > 0
    ]
    assert {hit.chunk_id for hit in fused} == {
        hit.chunk_id for arm in asked for hit in found.get(arm, [])
    }
    assert len({hit.chunk_id for hit in fused}) == len(fused)
    bound = len(ARMS) / (fusion.k + 1) if isinstance(fusion, RrfFusion) else 1.0
    assert all(math.isfinite(hit.score) and 0 <= hit.score <= bound + 1e-12 for hit in fused)
    for hit in fused:
        assert hit.sources == tuple(
            arm for arm in asked if hit.chunk_id in {h.chunk_id for h in found.get(arm, [])}
        )


@given(rankings, fusions, normalises)
def test_a_chunk_that_no_arm_ranks_lower_is_not_fused_lower(
    found: Rankings, fusion: Fusion, normalise: Normalise
) -> None:
    fused = by_chunk(fuse(found, fusion, normalise=normalise))
    places = {
        arm: {hit.chunk_id: n for n, hit in enumerate(ranked)} for arm, ranked in found.items()
    }
    for better in fused:
        for worse in fused:
            if all(
                worse not in place or (better in place and place[better] <= place[worse])
                for place in places.values()
            ):
                assert fused[better] >= fused[worse]


@given(hits, st.sampled_from(ARMS), st.integers(1, 100))
def test_rrf_of_one_arm_keeps_its_order(found: list[Hit], arm: ArmName, k: int) -> None:
    fused = fuse({arm: found}, RrfFusion(k=k))
    assert [hit.chunk_id for hit in fused] == [hit.chunk_id for hit in found]


@given(rankings)
def test_rrf_is_exact(found: Rankings) -> None:
    exact: dict[int, Fraction] = {}
    for ranked in found.values():
        for rank, hit in enumerate(ranked, 1):
            exact[hit.chunk_id] = exact.get(hit.chunk_id, Fraction(0)) + Fraction(1 / (60 + rank))
    assert by_chunk(fuse(found)) == {chunk: float(total) for chunk, total in exact.items()}


@given(rankings, fusions)
def test_an_empty_arm_changes_nothing(found: Rankings, fusion: Fusion) -> None:
    """B035: the keyword arm of a query of stop words."""
    present: Rankings = {arm: ranked for arm, ranked in found.items() if ranked}
    padded: Rankings = {arm: present.get(arm, []) for arm in ARMS}
    assert fuse(present, fusion) == fuse(padded, fusion)


gates = st.dictionaries(st.sampled_from(ARMS), st.sampled_from([0.0, 0.5, 1.0]))


@given(rankings, fusions, gates, st.integers(0, 15))
def test_a_limit_cuts_the_order_and_the_counted_arms_are_those_that_rows_name(
    found: Rankings, fusion: Fusion, shut: dict[ArmName, float], limit: int
) -> None:
    everything = fuse(found, fusion, gates=shut)
    assert fuse(found, fusion, gates=shut, limit=limit) == everything[:limit]
    named = {arm for hit in everything for arm in hit.sources}
    assert counted_arms(found, fusion, shut) == [arm for arm in ARMS if arm in named]


def test_nothing_gives_nothing() -> None:
    assert fuse({}) == []
    assert fuse({"semantic": [], "keyword": []}, EVEN) == []


# Settings


def test_settings_are_read_as_stored() -> None:
    assert read_fusion({"method": "rrf", "k": 60}) == DEFAULT_RRF
    assert read_fusion({"method": "rrf"}) == DEFAULT_RRF
    stored = {"method": "weighted", "weights": {"semantic": 0.5, "keyword": "0.5"}}
    assert read_fusion(stored) == EVEN


@pytest.mark.parametrize(
    "raw",
    [
        {},
        {"method": "best"},
        {"method": "rrf", "k": 0},
        {"method": "rrf", "k": None},
        {"method": "weighted"},
        {"method": "weighted", "weights": {}},
        {"method": "weighted", "weights": {"semantic": 0}},
        {"method": "weighted", "weights": {"semantic": -1}},
        {"method": "weighted", "weights": {"semantic": math.nan}},
        {"method": "weighted", "weights": {"semantic": math.inf}},
        {"method": "weighted", "weights": {"bm25": 1}},
        {"method": "weighted", "weights": None},
    ],
)
def test_settings_that_cannot_work_are_refused(raw: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read_fusion(raw)


# Gates


@pytest.mark.parametrize("fusion", [DEFAULT_RRF, weighted(semantic=0.5, keyword=0.5, graph=0.8)])
def test_a_closed_gate_is_as_if_the_arm_were_not_there(fusion: Fusion) -> None:
    rankings: Rankings = {"semantic": ranking(1, 2), "keyword": ranking(2, 3)}
    without = fuse(rankings, fusion, gates={"graph": 0.0})
    assert fuse({**rankings, "graph": ranking(9, 1)}, fusion, gates={"graph": 0.0}) == without
    assert 9 not in by_chunk(without)
    if isinstance(fusion, WeightedFusion):
        assert without == fuse(rankings, EVEN)


def test_an_arm_that_is_asked_alone_has_no_gate() -> None:
    alone = weighted(graph=1.0)
    hits = {"graph": ranking(1, 2)}
    assert fuse(hits, alone, gates={"graph": 0.0}) == fuse(hits, alone)  # type: ignore[arg-type]
    assert [hit.chunk_id for hit in fuse(hits, alone)] == [1, 2]  # type: ignore[arg-type]


def test_a_gate_is_a_factor_of_the_arms_weight() -> None:
    rankings: Rankings = {"semantic": ranking(1, 2), "graph": ranking(2, 1)}
    half = fuse(rankings, weighted(semantic=0.5, graph=0.8), gates={"graph": 0.5})
    assert half == fuse(rankings, weighted(semantic=0.5, graph=0.4))
    ranks = by_chunk(fuse(rankings, gates={"graph": 0.5}))
    assert ranks == pytest.approx({1: 1 / 61 + 0.5 / 62, 2: 1 / 62 + 0.5 / 61})
