"""Measures of a ranking against judgements.

nDCG@10 with linear gain (Järvelin and Kekäläinen, TOIS 2002), recall, reciprocal rank and
success (hit@k) are those of ir-measures (MacAvaney et al., ECIR 2022). ``All@10`` is ours: 1 if
every relevant document is among the first ten, which is what a multi-hop question needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import ir_measures
from ir_measures import RR, R, ScoredDoc, Success, nDCG

from ragbase.evaluation.dataset import Qrels

__all__ = ["MEASURES", "Rankings", "Scores", "average", "document_ranking", "score_queries"]

Rankings = Mapping[str, Sequence[str]]
"""Query id → document ids, best first, each once."""
Scores = dict[str, float]
"""Name of a measure → value in 0…1."""

_IR_MEASURES = {
    "nDCG@10": nDCG @ 10,
    "R@10": R @ 10,
    "R@50": R @ 50,
    "RR": RR,
    "hit@1": Success @ 1,
    "hit@5": Success @ 5,
}
ALL_AT_10 = "All@10"
MEASURES: tuple[str, ...] = (*_IR_MEASURES, ALL_AT_10)


def document_ranking(document_of_chunk: Iterable[str]) -> list[str]:
    """Documents in the order of their best chunk: a document's score is its best chunk's."""
    return list(dict.fromkeys(document_of_chunk))


def score_queries(rankings: Rankings, qrels: Qrels) -> dict[str, Scores]:
    """Each ranking's measures, by query id. An empty ranking scores 0 everywhere.

    Ranks are handed on as falling scores, so the order is exactly the API's and never that of a
    tie-break by document id.
    """
    judged = {query_id: dict(qrels[query_id]) for query_id in rankings}
    run = [
        ScoredDoc(query_id, document, float(len(ranking) - place))
        for query_id, ranking in rankings.items()
        for place, document in enumerate(ranking)
    ]
    scores = {query_id: dict.fromkeys(MEASURES, 0.0) for query_id in rankings}
    names = {measure: name for name, measure in _IR_MEASURES.items()}
    for metric in ir_measures.iter_calc(list(names), judged, run) if run else ():
        scores[metric.query_id][names[metric.measure]] = float(metric.value)
    for query_id, ranking in rankings.items():
        scores[query_id][ALL_AT_10] = _all_found(ranking[:10], judged[query_id])
    return scores


def average(scores: Iterable[Scores]) -> Scores:
    """The mean of each measure over queries; empty where there are none."""
    rows = list(scores)
    return {name: sum(row[name] for row in rows) / len(rows) for name in MEASURES} if rows else {}


def _all_found(top: Sequence[str], judged: Mapping[str, int]) -> float:
    return float({document for document, grade in judged.items() if grade > 0} <= set(top))
