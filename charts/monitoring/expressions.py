"""What an expression of PromQL asks for, as far as ours go.

Not a parser: it reads selectors, and which labels an aggregation keeps of them. Whether an
expression is valid is for Prometheus to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Matcher", "Selector", "asked_labels", "filled", "panel_queries", "selectors"]

_SELECTOR: Final = re.compile(
    r"\b((?:ragbase|te|process|gpu|DCGM)[\w:]*|up)\b(?!\s*\()(?:\{([^}]*)\})?"
)
_MATCHER: Final = re.compile(r'(\w+)(=~|!~|!=|=)"([^"]*)"')
_AGGREGATION: Final = re.compile(
    r"\b(?:by|on|ignoring)\s*\(([^)]*)\)\s*(?:group_left\s*\(\)\s*)?(\()?"
)
_WORD: Final = re.compile(r"[\w -]+|\d+\.\d+")
_VARIABLE: Final = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on a label."""

    label: str
    operator: str
    value: str

    @property
    def values(self) -> list[str]:
        """The words that it names; none where it is a pattern of another kind."""
        words = self.value.split("|")
        return words if all(_WORD.fullmatch(word) for word in words) else []


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric, and conditions on its labels."""

    metric: str
    matchers: tuple[Matcher, ...]


def selectors(expression: str) -> list[Selector]:
    """All series that an expression asks for; names of labels are none."""
    bare = _AGGREGATION.sub(lambda found: "(" if found[2] else " ", expression)
    return [
        Selector(name, tuple(Matcher(*each) for each in _MATCHER.findall(inside or "")))
        for name, inside in _SELECTOR.findall(bare)
    ]


def asked_labels(expression: str) -> Iterator[tuple[str, str]]:
    """Metric and label, for each label that a matcher names or an aggregation keeps."""
    for selector in selectors(expression):
        for matcher in selector.matchers:
            yield selector.metric, matcher.label
    for found in re.finditer(r"\bby\s*\(([^)]*)\)\s*\(", expression):
        inner = _balanced(expression, found.end())
        for selector in selectors(inner):
            for label in re.split(r"\s*,\s*", found[1]):
                yield selector.metric, label


def filled(expression: str, variables: Mapping[str, str]) -> str:
    """With Grafana's variables in place."""
    return _VARIABLE.sub(lambda found: variables[found[1]], expression)


def panel_queries(board: str) -> Iterator[tuple[str, str]]:
    """Title of the panel and expression, of each query of a dashboard's JSON."""
    panels: list[dict[str, Any]] = json.loads(board)["panels"]
    for panel in panels:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]


def _balanced(text: str, start: int) -> str:
    """From ``start``, which is behind a parenthesis, to the one that closes it."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return text[start:place]
    raise ValueError(f"a parenthesis is not closed: {text}")
