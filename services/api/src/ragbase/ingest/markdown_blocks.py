"""The blocks of a text: CommonMark's, by markdown-it, or plain paragraphs between blank lines.

Only block structure is read; inline markup stays as it stands. Positions are code points of the
text as it was given: ``\\n``, ``\\r\\n`` and ``\\r`` all end a line and none is rewritten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Final, Literal

import regex
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

__all__ = ["Block", "BlockKind", "line_starts", "markdown_blocks", "plain_blocks"]

BlockKind = Literal["heading", "prose", "code", "table", "group", "silent", "front_matter"]
"""``group`` holds blocks (lists, list items, quotes); ``silent`` is a rule or an HTML comment."""

_KINDS: Final[dict[str, BlockKind]] = {
    "paragraph_open": "prose",
    "heading_open": "heading",
    "fence": "code",
    "code_block": "code",
    "html_block": "code",
    "table_open": "table",
    "bullet_list_open": "group",
    "ordered_list_open": "group",
    "list_item_open": "group",
    "blockquote_open": "group",
    "hr": "silent",
    "front_matter": "front_matter",
}
_LINE_END: Final = regex.compile(r"\r\n?|\n")
_BLANK: Final = regex.compile(r"(?:\r\n?|\n)(?:[ \t\f\v]*(?:\r\n?|\n))+")
_COMMENTS: Final = regex.compile(r"\s*(?:<!--(?:(?!-->).)*+(?:-->|\Z)\s*)+", regex.DOTALL)
_NESTING_MAX: Final = 20
"""Deeper lists and quotes are kept as their parent's text: nesting costs time per line."""
_LINES_MAX: Final = 400_000
"""Texts of more lines are split as plain paragraphs: the parser needs up to 0.1 ms a line."""
_TITLE_MAX: Final = 300
"""A longer "heading" is a paragraph that happens to stand over dashes."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block ``text[start:end]``; ``level`` and ``title`` are those of a heading."""

    kind: BlockKind
    start: int
    end: int
    level: int = 0
    title: str = ""
    children: tuple[Block, ...] = ()


def line_starts(text: str) -> list[int]:
    """Where each line starts, and one more entry for the end of the text."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    return [*starts, len(text)]


def plain_blocks(text: str) -> list[Block]:
    """The paragraphs between blank lines."""
    ends = [0, *(match.end() for match in _BLANK.finditer(text)), len(text)]
    return [Block("prose", a, b) for a, b in pairwise(ends) if text[a:b].strip()]


def markdown_blocks(text: str) -> list[Block]:
    """The top-level blocks of a CommonMark text (with tables and front matter), in order.

    Together they cover every line that is not blank. Only top-level headings count as headings.
    """
    lines = line_starts(text)
    if len(lines) > _LINES_MAX:
        return plain_blocks(text)
    tokens = [token for token in _parser().parse(text) if token.map or token.type == "inline"]
    reader = _Reader(text, lines, tokens)
    return reader.blocks(0, len(lines) - 1)


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING_MAX})
    parser.enable("table").use(front_matter_plugin)
    parser.core.ruler.enableOnly(["normalize", "block"])
    parser.block.ruler.disable("reference")  # a definition is text that people search for
    return parser


class _Reader:
    """Turns the parser's flat tokens into nested blocks."""

    def __init__(self, text: str, lines: Sequence[int], tokens: Sequence[Token]) -> None:
        self._text = text
        self._lines = lines
        self._tokens = tokens
        self._next = 0

    def blocks(self, first: int, last: int, depth: int = 0) -> list[Block]:
        """Blocks of the lines ``first`` to ``last``; lines of no token become prose."""
        found: list[Block] = []
        line = first
        while (token := self._peek(depth, last)) is not None:
            begin, end = self._span(token, line, last)
            found += self._loose(line, begin)
            self._next += 1
            found.append(self._block(token, begin, end, depth))
            line = max(line, end)
        found += self._loose(line, last)
        return found

    def _peek(self, depth: int, last: int) -> Token | None:
        """The next token that opens a block here."""
        while self._next < len(self._tokens):
            token = self._tokens[self._next]
            if token.level < depth or (token.map is not None and token.map[0] >= last):
                return None
            if token.level == depth and token.map is not None and token.type in _KINDS:
                return token
            self._next += 1
        return None

    @staticmethod
    def _span(token: Token, line: int, last: int) -> tuple[int, int]:
        begin, end = token.map or (line, line)
        begin = max(begin, line)
        return begin, max(begin, min(end, last))

    def _block(self, token: Token, begin: int, end: int, depth: int) -> Block:
        start, stop = self._lines[begin], self._lines[end]
        kind = _KINDS[token.type]
        if kind == "group":
            children = tuple(self.blocks(begin, end, depth + 1))
            return Block(kind, start, stop, children=children)
        if kind == "heading":
            title = self._title()
            if len(title) > _TITLE_MAX or depth > 0:
                return Block("prose", start, stop)
            return Block(kind, start, stop, level=int(token.tag[1]), title=title)
        if token.type == "html_block" and _COMMENTS.fullmatch(self._text, start, stop):
            return Block("silent", start, stop)
        return Block(kind, start, stop)

    def _title(self) -> str:
        """The text of the heading that was just opened, on one line."""
        following = self._tokens[self._next] if self._next < len(self._tokens) else None
        if following is None or following.type != "inline":
            return ""
        return " ".join(following.content.split())

    def _loose(self, begin: int, end: int) -> Iterator[Block]:
        """Lines that belong to no token, as one block of prose unless they are blank."""
        start, stop = self._lines[begin], self._lines[max(begin, end)]
        if self._text[start:stop].strip():
            yield Block("prose", start, stop)
