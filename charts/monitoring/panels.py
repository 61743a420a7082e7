"""The kinds of panel that the dashboards are made of, each with the product's ways.

Times and shares are drawn from zero; every panel says in its description what to see in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from grafana_foundation_sdk.builders import bargauge, common, heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.builders.dashboard import ThresholdsConfig
from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models.common import (
    BigValueColorMode,
    BigValueGraphMode,
    GraphThresholdsStyleMode,
    HeatmapCellLayout,
    LegendDisplayMode,
    LegendPlacement,
    SortOrder,
    StackingMode,
    TooltipDisplayMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    Panel,
    Threshold,
    ThresholdsMode,
    ValueMap,
    ValueMappingResult,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

__all__ = ["SOURCE", "bars", "heat", "lines", "number"]

SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The data source that is chosen above the dashboard."""

_GREEN, _YELLOW, _RED = "green", "#EAB839", "red"
_HEIGHT: Final = 8

Queries = Sequence[tuple[str, str]]
"""Expression and legend of each query."""


def lines(
    title: str,
    about: str,
    unit: str,
    queries: Queries,
    *,
    width: int = 12,
    stacked: bool = False,
    limit: float | None = None,
    most: float | None = None,
) -> Builder[Panel]:
    """A graph over time; ``limit`` is drawn as a red line, ``most`` is where the axis ends."""
    panel = (
        timeseries.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .span(width)
        .height(_HEIGHT)
        .line_width(1)
        .fill_opacity(30 if stacked else 5)
        .legend(
            common.VizLegendOptions()
            .show_legend(True)
            .display_mode(LegendDisplayMode.TABLE)
            .placement(LegendPlacement.BOTTOM)
            .calcs(["mean", "max", "lastNotNull"])
        )
        .tooltip(
            common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI).sort(SortOrder.DESCENDING)
        )
    )
    if stacked:
        panel.stacking(common.StackingConfig().mode(StackingMode.NORMAL).group("A"))
    if limit is not None:
        panel.thresholds(_limit(limit))
        panel.thresholds_style(
            common.GraphThresholdsStyleConfig().mode(GraphThresholdsStyleMode.DASHED)
        )
        panel.axis_soft_max(limit)
    if most is not None:
        panel.max(most)
    for target in _targets(queries):
        panel.with_target(target)
    return panel


def number(
    title: str,
    about: str,
    unit: str,
    expression: str,
    *,
    good: Sequence[float] = (),
    low_is_bad: bool = False,
    decimals: float | None = None,
    width: int = 4,
) -> Builder[Panel]:
    """One number and its course; ``good`` is where it turns yellow and red."""
    panel = (
        stat.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(4)
        .graph_mode(BigValueGraphMode.AREA)
        .color_mode(BigValueColorMode.VALUE)
        .thresholds(_steps(good, low_is_bad=low_is_bad))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
        .with_target(_target("A", expression, ""))
    )
    return panel if decimals is None else panel.decimals(decimals)


def bars(
    title: str,
    about: str,
    unit: str,
    queries: Queries,
    *,
    good: Sequence[float] = (),
    low_is_bad: bool = False,
    most: float | None = None,
    words: Mapping[str, str] | None = None,
    width: int = 12,
) -> Builder[Panel]:
    """The latest value of each series as a bar; ``words`` stand for values."""
    panel = (
        bargauge.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .min(0)
        .span(width)
        .height(_HEIGHT)
        .orientation(VizOrientation.HORIZONTAL)
        .thresholds(_steps(good, low_is_bad=low_is_bad))
        .reduce_options(common.ReduceDataOptions().calcs(["lastNotNull"]))
    )
    if most is not None:
        panel.max(most)
    if words is not None:
        named = {value: ValueMappingResult(text=word) for value, word in words.items()}
        panel.mappings([ValueMap(options=named)])
    for target in _targets(queries):
        panel.with_target(target.instant())
    return panel


def heat(title: str, about: str, unit: str, expression: str, *, width: int = 12) -> Builder[Panel]:
    """A histogram over time: ``expression`` gives the rate of each bucket, by ``le``."""
    return (
        heatmap.Panel()
        .title(title)
        .description(about)
        .datasource(SOURCE)
        .unit(unit)
        .span(width)
        .height(_HEIGHT)
        .calculate(False)
        .rows_frame(heatmap.RowsHeatmapOptions().layout(HeatmapCellLayout.LE))
        .y_axis(heatmap.YAxisConfig().unit(unit))
        .with_target(_target("A", expression, "{{le}}").format(PromQueryFormat.HEATMAP))
    )


def _targets(queries: Queries) -> list[prometheus.Dataquery]:
    return [
        _target(chr(ord("A") + number), expression, legend)
        for number, (expression, legend) in enumerate(queries)
    ]


def _target(name: str, expression: str, legend: str) -> prometheus.Dataquery:
    query = prometheus.Dataquery().ref_id(name).expr(expression).datasource(SOURCE)
    return query.legend_format(legend) if legend else query


def _limit(limit: float) -> ThresholdsConfig:
    steps = [Threshold(value=None, color="transparent"), Threshold(value=limit, color=_RED)]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)


def _steps(bounds: Sequence[float], *, low_is_bad: bool) -> ThresholdsConfig:
    """Green, then yellow, then red; the other way round where less is worse."""
    colours = [_GREEN, _YELLOW, _RED] if len(bounds) != 1 else [_GREEN, _RED]
    if low_is_bad:
        colours = colours[::-1]
    steps = [Threshold(value=None, color=colours[0])]
    steps += [
        Threshold(value=value, color=colour)
        for value, colour in zip(sorted(bounds), colours[1:], strict=False)
    ]
    return ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)
