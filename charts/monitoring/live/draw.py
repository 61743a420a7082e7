"""Draws the dashboards out of real data: a picture each, panel by panel as Grafana lays them out.

For looking at, not for comparing: whether a query gives what its title says, in the unit that it
says. Grafana's own rendering is another.

Usage: python -m charts.monitoring.live.draw --out FOLDER [--seconds 90]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FuncFormatter

from charts.monitoring.dashboards import BOARDS
from charts.monitoring.expressions import filled
from charts.monitoring.live.binaries import find_binaries
from charts.monitoring.live.observed import Observed, observed
from charts.monitoring.live.prometheus import Series

__all__ = ["draw"]

_COLUMNS: Final = 24
_INCHES: Final = (0.9, 0.42)
"""Of a cell of the grid, width and height."""


async def main(arguments: argparse.Namespace) -> int:
    """Run everything for a while, then draw."""
    folder = Path(arguments.out)
    async with observed(find_binaries(), arguments.seconds) as seen:
        for board in BOARDS:
            draw(json.loads(board.render()), seen, folder / f"{board.uid}.png")
    return 0


def draw(board: dict[str, Any], seen: Observed, path: Path) -> None:
    """One dashboard as a picture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    panels = board["panels"]
    lines = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels)
    figure = plt.figure(figsize=(_COLUMNS * _INCHES[0], lines * _INCHES[1]), dpi=70)
    for panel in panels:
        place = panel["gridPos"]
        x, top = place.get("x", 0) / _COLUMNS, 1 - place["y"] / lines
        width, height = place["w"] / _COLUMNS, place["h"] / lines
        if panel["type"] == "row":
            title = filled(panel["title"], seen.variables)
            figure.text(x + 0.004, top - height, title, fontsize=13, weight="bold")
            continue
        box = (x + 0.035, top - height + 0.45 * 2 / lines, width - 0.045, height - 2 / lines)
        axes = figure.add_axes(box)
        axes.set_title(filled(panel["title"], seen.variables), fontsize=9, loc="left")
        _PANELS[panel["type"]](axes, panel, _ask(panel, seen))
    figure.savefig(path)
    plt.close(figure)


def _ask(panel: dict[str, Any], seen: Observed) -> list[tuple[str, Series]]:
    """Legend and series of all queries of a panel."""
    return [
        (_legend(target.get("legendFormat", ""), series), series)
        for target in panel["targets"]
        for series in seen.prometheus.span(
            filled(target["expr"], seen.variables), seen.start, seen.end, 1
        )
    ]


def _legend(form: str, series: Series) -> str:
    for name, value in series.labels.items():
        form = form.replace("{{" + name + "}}", value)
    return form


def _graph(axes: Any, panel: dict[str, Any], found: Sequence[tuple[str, Series]]) -> None:
    defaults = panel["fieldConfig"]["defaults"]
    stacked = (defaults["custom"].get("stacking") or {}).get("mode") == "normal"
    floor: dict[float, float] = {}
    for legend, series in found:
        times = [time for time, _ in series.points]
        values = [value for _, value in series.points]
        if stacked:
            base = [floor.get(time, 0.0) for time in times]
            tops = [low + value for low, value in zip(base, values, strict=True)]
            floor |= dict(zip(times, tops, strict=True))
            axes.fill_between([_clock(t) for t in times], base, tops, label=legend, alpha=0.6)
        else:
            axes.plot([_clock(t) for t in times], values, label=legend, linewidth=1)
    for step in (defaults.get("thresholds") or {}).get("steps", []):
        if step.get("value") is not None and step["color"] == "red":
            axes.axhline(step["value"], color="red", linestyle="--", linewidth=1)
    axes.set_ylim(bottom=0, top=defaults.get("max"))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _shown(value, defaults["unit"])))
    axes.tick_params(labelsize=6)
    if found:
        axes.legend(fontsize=6, loc="upper left", ncols=2)
    else:
        _nothing(axes)


def _number(axes: Any, panel: dict[str, Any], found: Sequence[tuple[str, Series]]) -> None:
    axes.set_axis_off()
    if not found:
        _nothing(axes)
        return
    defaults = panel["fieldConfig"]["defaults"]
    value = found[0][1].points[-1][1]
    colour = _colour(value, defaults["thresholds"]["steps"])
    axes.text(0.5, 0.4, _shown(value, defaults["unit"]), fontsize=18, color=colour, ha="center")


def _bars(axes: Any, panel: dict[str, Any], found: Sequence[tuple[str, Series]]) -> None:
    if not found:
        _nothing(axes)
        return
    defaults = panel["fieldConfig"]["defaults"]
    values = [series.points[-1][1] for _, series in found]
    colours = [_colour(value, defaults["thresholds"]["steps"]) for value in values]
    drawn = axes.barh([legend for legend, _ in found], values, color=colours)
    axes.bar_label(drawn, [_shown(value, defaults["unit"]) for value in values], fontsize=7)
    axes.tick_params(labelsize=7)


def _heat(axes: Any, panel: dict[str, Any], found: Sequence[tuple[str, Series]]) -> None:
    """Buckets are cumulative: each is drawn without the one below it."""
    if not found:
        _nothing(axes)
        return
    unit = panel["fieldConfig"]["defaults"]["unit"]
    rows = sorted(found, key=lambda each: float(each[1].labels["le"]))
    grid = [[value for _, value in series.points] for _, series in rows]
    cells = [grid[0]] + [
        [high - low for high, low in zip(above, below, strict=True)]
        for below, above in pairwise(grid)
    ]
    axes.imshow(cells, aspect="auto", origin="lower", cmap="Oranges")
    bounds = [float(series.labels["le"]) for _, series in rows]
    axes.set_yticks(range(len(bounds)), [_shown(bound, unit) for bound in bounds], fontsize=6)


def _nothing(axes: Any) -> None:
    axes.text(0.5, 0.5, "no data", ha="center", va="center", transform=axes.transAxes)


_PANELS: Final[dict[str, Callable[[Any, dict[str, Any], Sequence[tuple[str, Series]]], None]]] = {
    "timeseries": _graph,
    "stat": _number,
    "bargauge": _bars,
    "heatmap": _heat,
}


def _clock(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds).astimezone()


def _colour(value: float, steps: Sequence[dict[str, Any]]) -> str:
    reached = [s["color"] for s in steps if s.get("value") is None or value >= s["value"]]
    return str(reached[-1])


def _shown(value: float, unit: str) -> str:
    """As Grafana shows it, about."""
    if unit == "s":
        return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
    if unit == "percentunit":
        return f"{value:.3g}" if value > 100 else f"{value * 100:.3g} %"
    if unit == "bytes":
        return f"{value / 2**20:.3g} MiB"
    return f"{value:.4g}{'/s' if unit == 'reqps' else ''}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Draw the dashboards.")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float, default=90.0)
    sys.exit(asyncio.run(main(parser.parse_args())))
