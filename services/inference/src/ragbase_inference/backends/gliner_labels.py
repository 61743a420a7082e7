"""Labels for GLiNER, which reads them before the text: so many at a time as it was trained for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["LabelGroup", "label_groups"]

_AROUND = 3
"""Special tokens of an input: at its start and end, and between labels and text."""


@dataclass(frozen=True, slots=True)
class LabelGroup:
    """Labels that are asked for at once; ``tokens`` that they take, special ones included."""

    labels: tuple[str, ...]
    tokens: int


def label_groups(
    labels: Sequence[str], counts: Sequence[int], *, max_labels: int, max_tokens: int
) -> list[LabelGroup]:
    """Labels of ``counts`` tokens in groups of at most so many labels and tokens.

    A longer label is a group of its own. Each label bears a mark, a token more.
    """
    groups: list[LabelGroup] = []
    for label, count in zip(labels, counts, strict=True):
        tokens = count + 1
        last = groups[-1] if groups else None
        if last and len(last.labels) < max_labels and last.tokens + tokens <= max_tokens:
            groups[-1] = LabelGroup((*last.labels, label), last.tokens + tokens)
        else:
            groups.append(LabelGroup((label,), _AROUND + tokens))
    return groups
