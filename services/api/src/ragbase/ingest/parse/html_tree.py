"""HTML to a tree, with the end tags that authors may leave out."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, Final

from bs4 import BeautifulSoup
from bs4.element import Tag

__all__ = ["html_tree"]

_ENTITY: Final = re.compile(r"&([A-Za-z][A-Za-z0-9]{0,40};)")
_LEFT_OPEN_MAX: Final = 16
_CELLS: Final = frozenset({"td", "th"})
_ROWS: Final = _CELLS | {"tr"}
_PARTS: Final = _ROWS | {"thead", "tbody", "tfoot", "caption"}
_ENDED_BY: Final[Mapping[str, tuple[frozenset[str], frozenset[str]]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "menu"})),
    "dt": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "dd": (frozenset({"dt", "dd"}), frozenset({"dl"})),
    "td": (_CELLS, frozenset({"table", "tr"})),
    "th": (_CELLS, frozenset({"table", "tr"})),
    "tr": (_ROWS, frozenset({"table", "thead", "tbody", "tfoot"})),
    **dict.fromkeys(("thead", "tbody", "tfoot"), (_PARTS, frozenset({"table"}))),
    "option": (frozenset({"option"}), frozenset({"select", "datalist"})),
}
"""By the start of an element: which open ones end, looked for up to which."""
_PARAGRAPH: Final = frozenset({"p"})
_ENDS_PARAGRAPH: Final = frozenset(
    {
        *("address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset"),
        *("figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main"),
        *("nav", "ol", "p", "pre", "section", "table", "ul"),
    }
)
_HOLDS_PARAGRAPHS: Final = _PARTS | _ENDS_PARAGRAPH - _PARAGRAPH | {"li", "dd", "body", "button"}
_LOOK_BACK: Final = 32
"""So far up the open elements; further up no author means the one left open."""


def html_tree(text: str) -> BeautifulSoup:
    """The tree of a page, or of a part of one."""
    for start, end in (("<![CDATA[", "]]>"), ("<!--", "-->"), ("<", ">")):
        text = _with_few_left_open(text, start, end)
    return _Tree(_with_unknown_entities_escaped(text), "html.parser")


class _Tree(BeautifulSoup):
    """Ends elements as the HTML standard says: the parser knows only the end tags it sees."""

    def handle_starttag(self, name: str, *args: Any, **more: Any) -> Tag | None:
        """Called by the parser, which has the arguments."""
        if name in _ENDED_BY:
            self._end(*_ENDED_BY[name])
        elif name in _ENDS_PARAGRAPH:
            self._end(_PARAGRAPH, _HOLDS_PARAGRAPHS)
        return super().handle_starttag(name, *args, **more)

    def _end(self, ended: frozenset[str], up_to: frozenset[str]) -> None:
        outermost = None
        for tag in islice(reversed(self.tagStack), _LOOK_BACK):
            if tag.name in ended:
                outermost = tag.name
            elif tag.name in up_to:
                break
        if outermost is not None:
            self.handle_endtag(outermost)


def _with_unknown_entities_escaped(text: str) -> str:
    """``&unknown;`` is text to a browser; the parser would drop its semicolon."""
    return _ENTITY.sub(lambda m: m[0] if m[1] in html.entities.html5 else f"&amp;{m[1]}", text)


def _with_few_left_open(text: str, start: str, end: str) -> str:
    """Where many a ``start`` comes after the last ``end``, the later ones are text.

    The parser looks for the end of each through the whole rest: 30,000 of them took minutes.
    """
    after = text.rfind(end) + 1
    if text.count(start, after) <= _LEFT_OPEN_MAX:
        return text
    *first, rest = text[after:].split(start, _LEFT_OPEN_MAX)
    shown = f"&lt;{start[1:]}"
    return text[:after] + start.join([*first, rest.replace(start, shown)])
