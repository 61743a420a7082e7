"""A dashboard out of sections of panels, with the variables that all have."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from grafana_foundation_sdk.builders.dashboard import (
    Dashboard,
    DashboardLink,
    DatasourceVariable,
    QueryVariable,
    Row,
)
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import (
    DashboardLinkType,
    Panel,
    VariableModel,
    VariableRefresh,
    VariableSort,
)

from charts.monitoring.panels import SOURCE

__all__ = ["RAGBASE", "Board", "Section", "choice"]

TAG: Final = "ragbase"
"""By which the dashboards find each other."""


def choice(name: str, label: str, metric: str, of: str | None = None) -> QueryVariable:
    """A variable whose values are those that label ``of`` of ``metric`` has; ``of``: ``name``."""
    return (
        QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(f"label_values({metric}, {of or name})")
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
    )


RAGBASE: Final = (
    choice("namespace", "Namespace", "ragbase_build_info"),
    choice("ragbase", "RagBase", 'ragbase_build_info{namespace="$namespace"}'),
)
"""Which RagBase it is about."""


@dataclass(frozen=True)
class Section:
    """Panels under one heading."""

    title: str
    panels: Sequence[Builder[Panel]]


@dataclass(frozen=True)
class Board:
    """One dashboard; ``name`` is that of its file, and with a prefix its uid."""

    name: str
    title: str
    about: str
    sections: Sequence[Section]
    variables: Sequence[Builder[VariableModel]] = RAGBASE

    @property
    def uid(self) -> str:
        """Stays when the dashboard changes, so that links to it last."""
        return f"ragbase-{self.name}"

    def render(self) -> str:
        """As JSON for Grafana."""
        dashboard = (
            Dashboard(f"RagBase / {self.title}")
            .uid(self.uid)
            .description(self.about)
            .tags([TAG])
            .time("now-3h", "now")
            .refresh("30s")
            .timezone("browser")
            .readonly()
            .link(
                DashboardLink("RagBase")
                .type(DashboardLinkType.DASHBOARDS)
                .tags([TAG])
                .as_dropdown(True)
                .keep_time(True)
                .include_vars(True)
            )
            .with_variable(DatasourceVariable("datasource").label("Data source").type("prometheus"))
        )
        for variable in self.variables:
            dashboard.with_variable(variable)
        for section in self.sections:
            dashboard.with_row(Row(section.title))
            for panel in section.panels:
                dashboard.with_panel(panel)
        return _with_ids(json.loads(JSONEncoder().encode(dashboard.build())))


def _with_ids(board: dict[str, Any]) -> str:
    """Numbers of panels, which links to a single panel go by."""
    for number, panel in enumerate(board["panels"], 1):
        panel["id"] = number
    return json.dumps(board, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
