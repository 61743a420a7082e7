"""The splitter: one text, rules, pieces. One code path serves both APIs.

Blocks (`markdown_blocks`) become atoms (`split_document`), atoms are packed into pieces
(`split_pack`). A piece is an exact slice of the text as it was given, line endings included; starts
strictly grow; nothing but white space, rules, comments and lone front matter is left out. Time is
linear in the length of the text. ``docs/adr/0005-splitter.md`` gives reasons and figures.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ragbase.ingest.markdown_blocks import markdown_blocks, plain_blocks
from ragbase.ingest.split_atoms import Context
from ragbase.ingest.split_document import document_atoms
from ragbase.ingest.split_exact import within_tokens
from ragbase.ingest.split_pack import Span, pack
from ragbase.ingest.split_room import Allowance
from ragbase.ingest.split_ruler import Ruler
from ragbase.ingest.split_rules import Piece, SplitRules
from ragbase.ingest.split_windows import windows

if TYPE_CHECKING:
    from ragbase.clients.embedder import Tokenizer

__all__ = ["Piece", "SplitRules", "split"]


def split(text: str, rules: SplitRules, tokenizer: Tokenizer | None = None) -> list[Piece]:
    """The pieces of ``text``, in order; none for a text with nothing to find.

    ``tokenizer`` is needed for ``rules.max_tokens`` to act. CPU-bound: call it from a worker thread.
    """
    if rules.max_tokens is None:
        tokenizer = None
    ruler = Ruler(text, tokenizer)
    allowance = Allowance(rules)
    spans = list(_spans(text, rules, ruler, allowance))
    if tokenizer is not None:
        spans = list(within_tokens(spans, text, tokenizer))
    return [
        Piece(
            text[span.start : span.end],
            span.start,
            span.end,
            span.context.breadcrumb,
            max(1, ruler.units(span.start, span.end)),
            span.context.prefix,
        )
        for span in spans
    ]


def _spans(text: str, rules: SplitRules, ruler: Ruler, allowance: Allowance) -> Iterable[Span]:
    if rules.syntax == "words":
        context = Context(*allowance.of(()))
        found = windows(text, ruler, context.room, rules.overlap)
        return (Span(start, start, end, context) for start, end in found)
    blocks = markdown_blocks(text) if rules.syntax == "markdown" else plain_blocks(text)
    overlap = _overlap(rules, ruler, len(text))
    return pack(document_atoms(text, blocks, ruler, allowance, overlap), ruler)


def _overlap(rules: SplitRules, ruler: Ruler, length: int) -> int:
    """The overlap in units: where the token cap makes pieces shorter, a third of these at most."""
    tokens = ruler.tokens(0, length)
    if rules.max_tokens is None or not tokens:
        return rules.overlap
    size = rules.max_tokens * ruler.units(0, length) / tokens
    return rules.overlap if size >= rules.size else min(rules.overlap, int(size / 3))
