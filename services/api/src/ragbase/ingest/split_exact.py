"""The token cap made exact: pieces are counted as they will be embedded, and cut again if need be.

Tokens are first measured on the whole text. A slice of it may have others (a word cut in two, a
string that was one unknown token), so each piece is counted by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragbase.ingest.split_atoms import CODE, PROSE, WHOLE, AtomCutter
from ragbase.ingest.split_bounds import Cut, cluster_floor
from ragbase.ingest.split_pack import Span, pack
from ragbase.ingest.split_ruler import Ruler

if TYPE_CHECKING:
    from ragbase.clients.embedder import Tokenizer

__all__ = ["within_tokens"]


def within_tokens(spans: Sequence[Span], text: str, tokenizer: Tokenizer) -> Iterator[Span]:
    """The spans, those over their room cut again; only a single code point may remain over it."""
    counts = tokenizer.count([text[span.start : span.end] for span in spans])
    reached = 0
    for index, (span, count) in enumerate(zip(spans, counts, strict=True)):
        fits = count <= span.context.room.tokens or span.end - span.start == 1
        following = spans[index + 1].start if index + 1 < len(spans) else len(text)
        for part in (span,) if fits else _cut_again(span, text, tokenizer):
            # Parts of an overlap may lie whole in the piece before or in the one after.
            if part.end > reached and (fits or part.start < following):
                yield part
                reached = part.end


def _cut_again(span: Span, text: str, tokenizer: Tokenizer) -> Iterator[Span]:
    """The span in parts of about half its room or less, two at least."""
    body = text[span.start : span.end]
    cutter = AtomCutter(body, Ruler(body, tokenizer), overlap=0)
    context = replace(span.context, room=span.context.room.share(0.5))
    levels = CODE if context.code else PROSE
    atoms = list(cutter.atoms(0, len(body), Cut.BLOCK, levels, context))
    parts = pack(atoms, cutter.ruler)
    if len(parts) < 2:
        middle = cluster_floor(body, len(body) // 2) or len(body) // 2
        for half in ((0, middle), (middle, len(body))):
            for atom in cutter.atoms(*half, Cut.POINT, WHOLE, context):
                yield from _again(atom.start, atom.end, span, text, tokenizer)
        return
    for part in parts:
        yield from _again(part.start, part.end, span, text, tokenizer)


def _again(start: int, end: int, of: Span, text: str, tokenizer: Tokenizer) -> Iterator[Span]:
    start, end = of.start + start, of.start + end
    yield from within_tokens([Span(start, start, end, of.context)], text, tokenizer)
