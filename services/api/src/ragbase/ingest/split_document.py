"""The atoms of a document: sections, headings with the text under them, lists, tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from ragbase.ingest.markdown_blocks import Block
from ragbase.ingest.split_atoms import CODE, CRUMB, PROSE, ROWS, WHOLE, Atom, AtomCutter, Context
from ragbase.ingest.split_bounds import Cut, bounds
from ragbase.ingest.split_room import Allowance
from ragbase.ingest.split_ruler import Ruler

__all__ = ["document_atoms"]

_PREFIX_MAX: Final = 1 / 3
"""Most of a room that a repeated table header may take."""
_UNDER_HEADING: Final = 1 / 2
"""Share of a room for the parts of a block that does not fit together with its heading."""


def document_atoms(
    text: str, blocks: Sequence[Block], ruler: Ruler, allowance: Allowance, overlap: int
) -> list[Atom]:
    """The atoms of all blocks, in order, without overlap.

    Comments and rules give none; front matter gives some only beside other text, because a document
    of nothing else has nothing to find.
    """
    if all(block.kind in ("silent", "front_matter") for block in blocks):
        return []
    cutter = AtomCutter(text, ruler, overlap)
    atoms = _sections(blocks, cutter, allowance)
    return list(_joined(_carrying(atoms, ruler, overlap), ruler))


def _sections(blocks: Sequence[Block], cutter: AtomCutter, allowance: Allowance) -> Iterator[Atom]:
    """Atoms with the breadcrumb of their section; a heading belongs to the section it opens."""
    open_headings: list[Block] = []
    context = _context((), allowance)
    waiting: int | None = None  # start of the headings that have no text under them yet
    for block in blocks:
        if block.kind == "silent":
            continue
        if block.kind == "heading":
            while open_headings and open_headings[-1].level >= block.level:
                open_headings.pop()
            open_headings.append(block)
            context = _context([heading.title for heading in open_headings], allowance)
            waiting = block.start if waiting is None else waiting
            for atom in cutter.atoms(block.start, block.end, Cut.SECTION, PROSE, context):
                yield replace(atom, opens=block.level, leaves=block.level)
            continue
        yield from _under(waiting, block, cutter, context)
        waiting = None


def _context(titles: Iterable[str], allowance: Allowance) -> Context:
    breadcrumb, room = allowance.of(tuple(title for title in titles if title))
    return Context(breadcrumb, room)


def _under(
    heading: int | None, block: Block, cutter: AtomCutter, context: Context
) -> Iterator[Atom]:
    """The atoms of a block; smaller ones where it does not fit in a piece with its heading."""
    if heading is None or context.room.holds(cutter.ruler, heading, block.end):
        yield from _block(block, Cut.BLOCK, cutter, context)
        return
    tight = replace(context, room=context.room.share(_UNDER_HEADING))
    for atom in _block(block, Cut.BLOCK, cutter, tight):
        room = context.room.without(atom.context.prefix_tokens)
        yield replace(atom, context=replace(atom.context, room=room))


def _block(block: Block, cut: Cut, cutter: AtomCutter, context: Context) -> Iterator[Atom]:
    start, end = block.start, block.end
    nested = block.kind == "table" or block.children
    if nested and context.room.holds(cutter.ruler, start, end):
        yield from cutter.atoms(start, end, cut, WHOLE, context)
    elif block.children:
        for index, child in enumerate(block.children):
            yield from _block(child, Cut.ITEM if index else cut, cutter, context)
    elif block.kind == "table":
        yield from _table(start, end, cut, cutter, context)
    elif block.kind == "code":
        yield from cutter.atoms(start, end, cut, CODE, replace(context, code=True))
    else:
        yield from cutter.atoms(start, end, cut, PROSE, context)


def _table(start: int, end: int, cut: Cut, cutter: AtomCutter, context: Context) -> Iterator[Atom]:
    """The rows of a long table; those after the first carry the header as their prefix."""
    lines = bounds(cutter.text, start, end, Cut.LINE).tolist()
    body, second = lines[min(2, len(lines) - 1)], lines[min(3, len(lines) - 1)]
    yield from cutter.atoms(start, second, cut, ROWS, context)
    if context.room.share(_PREFIX_MAX).holds(cutter.ruler, start, body):
        tokens = cutter.ruler.tokens(start, body) + 1  # and a blank between
        header = cutter.text[start:body].strip()
        room = context.room.without(tokens)
        context = replace(context, room=room, prefix=header, prefix_tokens=tokens)
    if second < end:
        rows = cutter.atoms(second, end, Cut.LINE, ROWS, context)
        yield from (replace(atom, carry=atom.start) for atom in rows)


def _carrying(atoms: Iterable[Atom], ruler: Ruler, overlap: int) -> Iterator[Atom]:
    """Lets an atom that starts a block repeat the whole block before it, if that is short enough.

    Headings are not repeated and nothing is repeated before one: it would bring the breadcrumb of
    another section.
    """
    before: Atom | None = None
    for atom in atoms:
        if before is not None and not before.leaves and _starts_block(atom, before):
            short = ruler.units(before.start, atom.start) <= overlap
            yield replace(atom, carry=before.start) if short else atom
        else:
            yield atom
        before = atom


def _starts_block(*atoms: Atom) -> bool:
    return all(atom.cut in (Cut.BLOCK, Cut.ITEM) for atom in atoms)


def _joined(atoms: Iterable[Atom], ruler: Ruler) -> Iterator[Atom]:
    """Joins neighbours that are crumbs together, unless the later one starts something bigger."""
    held: Atom | None = None
    for atom in atoms:
        if held is None:
            held = atom
        elif _may_join(held, atom, ruler):
            held = replace(held, end=atom.end, leaves=atom.leaves)
        else:
            yield held
            held = atom
    if held is not None:
        yield held


def _may_join(held: Atom, atom: Atom, ruler: Ruler) -> bool:
    return (
        atom.cut >= held.cut
        and held.context.prefix == atom.context.prefix
        and held.context.room.share(CRUMB).holds(ruler, held.start, atom.end)
    )
