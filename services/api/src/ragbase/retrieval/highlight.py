"""Finds the places in a chunk's content that match the query's terms.

Same result as analysing the whole content, at a small part of the cost: segments never hold white
space, so each run between white space is analysed alone and remembered. Long runs (scripts without
spaces, encoded data) are rarely seen twice; in those, pairs of plain characters are looked up as
they are.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ragbase.text.analyse import Analyser

__all__ = ["HIGHLIGHTS_MAX", "Span", "highlights"]

Span = dict[str, int]
"""``{"start": …, "end": …}``, code points, end exclusive."""

HIGHLIGHTS_MAX: Final = 100
"""Most spans of a row: the first ones."""

_RUN_MAX: Final = 64
_REMEMBERED_MAX: Final = 50_000

_REMEMBERED: Final[defaultdict[str, dict[str, tuple[str, ...]]]] = defaultdict(dict)
"""Language → run → its terms."""

# Characters of scripts without spaces that fold to themselves: two in a row are a term.
_PLAIN: Final = (
    "\u3005-\u3007\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
)
_PIECE: Final = re.compile(f"[{_PLAIN}]+|[^{_PLAIN}]+")
_PLAIN_TERM: Final = re.compile(f"[{_PLAIN}]{{1,2}}")


def highlights(content: str, query_terms: Iterable[str], analyser: Analyser) -> list[Span]:
    """Spans of ``content`` whose terms are among ``query_terms``: in order, disjoint, not touching.

    At most `HIGHLIGHTS_MAX`. ``query_terms`` must come from the same analyser.
    """
    wanted = frozenset(query_terms)
    if not wanted:
        return []
    spans: list[tuple[int, int]] = []
    for run in set(content.split()):
        if found := _matches(run, wanted, analyser):
            for offset in _occurrences(content, run):
                spans += [(offset + start, offset + end) for start, end in found]
    return [{"start": start, "end": end} for start, end in _merged(spans)[:HIGHLIGHTS_MAX]]


def _matches(run: str, wanted: frozenset[str], analyser: Analyser) -> list[tuple[int, int]]:
    """Spans of one run without white space."""
    if len(run) > _RUN_MAX:
        return list(_matches_of_long_run(run, wanted, analyser))
    remembered = _REMEMBERED[analyser.language]
    terms = remembered.get(run)
    if terms is None:
        if len(remembered) >= _REMEMBERED_MAX:
            remembered.clear()
        terms = remembered[run] = tuple(analyser.terms(run))
    return [] if wanted.isdisjoint(terms) else _analysed(run, wanted, analyser)


def _analysed(run: str, wanted: frozenset[str], analyser: Analyser) -> list[tuple[int, int]]:
    return [(start, end) for term, start, end in analyser.tokens(run) if term in wanted]


def _matches_of_long_run(
    run: str, wanted: frozenset[str], analyser: Analyser
) -> Iterator[tuple[int, int]]:
    plain = [term for term in wanted if _PLAIN_TERM.fullmatch(term)]
    for piece in _PIECE.finditer(run):
        text, offset = piece[0], piece.start()
        if _PLAIN_TERM.match(text):
            found = [(at, at + len(term)) for term in plain for at in _places(text, term)]
        elif len(plain) == len(wanted):
            continue
        else:
            search = _matches if len(text) <= _RUN_MAX else _analysed
            found = search(text, wanted, analyser)
        yield from ((offset + start, offset + end) for start, end in found)


def _places(text: str, part: str) -> Iterator[int]:
    """Where ``part`` starts in ``text``; occurrences may overlap."""
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _occurrences(content: str, run: str) -> Iterator[int]:
    """Where ``run`` stands between white space or the ends of ``content``."""
    last = len(content) - len(run)
    for at in _places(content, run):
        opens = at == 0 or content[at - 1].isspace()
        if opens and (at == last or content[at + len(run)].isspace()):
            yield at


def _merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
