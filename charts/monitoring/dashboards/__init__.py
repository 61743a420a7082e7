"""The dashboards, one module each."""

from __future__ import annotations

from typing import Final

from charts.monitoring.board import Board
from charts.monitoring.dashboards.benchmarks import BENCHMARKS
from charts.monitoring.dashboards.graph import GRAPH
from charts.monitoring.dashboards.ingest import INGEST
from charts.monitoring.dashboards.localrag import LOCALRAG
from charts.monitoring.dashboards.models import MODELS
from charts.monitoring.dashboards.operator import OPERATOR
from charts.monitoring.dashboards.overview import OVERVIEW
from charts.monitoring.dashboards.search import SEARCH

__all__ = ["BOARDS"]

BOARDS: Final[tuple[Board, ...]] = (
    OVERVIEW,
    SEARCH,
    GRAPH,
    INGEST,
    MODELS,
    LOCALRAG,
    OPERATOR,
    BENCHMARKS,
)
