# ruff: noqa: ARG002 - the signatures are markdownify's
"""An HTML tree as Markdown: blocks keep their shape, inline mark-up goes, text stays literal."""

from __future__ import annotations

import re
from typing import Any, Final

from bs4 import Tag
from bs4.element import NavigableString, PageElement
from markdownify import MarkdownConverter

from ragbase.ingest.parse.characters import literal

__all__ = ["markdown_of"]

_BLOCKS: Final = frozenset(
    {
        *("article", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "figcaption"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section"),
        *("table", "td", "th", "tr", "ul"),
    }
)
_INLINE: Final = frozenset({"code", "img", "kbd", "q", "samp"})
"""What is converted beside blocks; of all else (links, emphasis) the text is kept: a URL or an
asterisk in a chunk helps nobody to find it."""
_LIKE_DIV: Final = ("address", "aside", "details", "figure", "footer", "header", "main", "summary")
_OPEN_LINES: Final = frozenset({"article", "blockquote", "div", "p", "section"})
_BLANK_LINES: Final = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")
_FENCE: Final = re.compile(r"^\s*(`{3,})", re.MULTILINE)
_SPAN_MAX: Final = 50
_NUMBER: Final = "data-ragbase-number"
_HEADER: Final = "data-ragbase-header"
"""Marks made once, because asking the tree at each element takes quadratic time."""
_LAYOUT: Final = ("table", "h1", "h2", "h3", "ul", "ol", "pre", "blockquote")


def markdown_of(root: Tag) -> str:
    """The Markdown of a tree; changes the tree. Nesting must be bounded (`html_visible`)."""
    for table in root.find_all("table"):
        if _is_layout(table):
            _as_divisions(table)
        elif isinstance(row := table.find("tr"), Tag):
            row[_HEADER] = ""
    for tag in root.find_all(_LIKE_DIV):
        tag.name = "div"
    for numbered in root.find_all("ol"):
        for number, item in enumerate(numbered.find_all("li", recursive=False), _start(numbered)):
            item[_NUMBER] = str(number)
    text = _Converter(**_OPTIONS).convert_soup(root)
    return _BLANK_LINES.sub("\n\n", text).strip()


_OPTIONS: Final[dict[str, Any]] = {
    "convert": _BLOCKS | _INLINE,
    "heading_style": "atx",
    "escape_asterisks": False,
    "escape_underscores": False,
    "wrap": True,
    "wrap_width": None,  # a paragraph is one line
}


def _is_layout(table: Tag) -> bool:
    """Whether a table arranges a page: its cells hold blocks that no cell of data holds."""
    return table.get("role") == "presentation" or table.find(_LAYOUT) is not None


def _as_divisions(table: Tag) -> None:
    table.name = "div"
    for part in table.find_all(["thead", "tbody", "tfoot", "tr", "td", "th", "caption"]):
        if part.find_parent("table") is None:  # not of a table within
            part.name = "div"


class _Converter(MarkdownConverter):
    """markdownify's, for text that is searched and not rendered."""

    def process_text(self, el: NavigableString, parent_tags: set[str] | None = None) -> str:
        text: str = super().process_text(el, parent_tags=parent_tags)  # type: ignore[misc]  # untyped
        if "_noformat" not in (parent_tags or ()) and literal(text) != text and _starts_line(el):
            return literal(text)
        return text

    def convert_br(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return " " if "_inline" in parent_tags else "\n"

    def convert_img(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return " ".join(str(el.get("alt") or "").split())

    def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if "_inline" in parent_tags:
            return f" {' '.join(text.split())} "
        longest = max((len(found) for found in _FENCE.findall(text)), default=2)
        fence = "`" * (longest + 1)
        body = text.strip("\n")
        return f"\n\n{fence}{_language(el)}\n{body}\n{fence}\n\n" if body.strip() else ""

    def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        cell = " ".join(text.split()).replace("|", "\\|")
        return f" {cell} |" + " |" * (_span(el) - 1)

    convert_th = convert_td

    def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        if _HEADER not in el.attrs:
            return f"|{text}\n"
        columns = sum(_span(cell) for cell in el.find_all(["td", "th"], recursive=False))
        return f"|{text}\n|{' --- |' * columns}\n"

    def convert_caption(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"{' '.join(text.split())}\n\n"

    def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        lines = text.strip().splitlines()
        if not lines:
            return "\n"
        first, *more = lines
        mark = f"{el[_NUMBER]}. " if _NUMBER in el.attrs else "- "
        below = "".join(f"\n{' ' * len(mark)}{line}" if line else "\n" for line in more)
        return f"{mark}{first}{below}\n"

    def convert_dt(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f"\n\n{' '.join(text.split())}\n"

    def convert_dd(self, el: Tag, text: str, parent_tags: set[str]) -> str:
        return f": {text.strip()}\n"


def _language(pre: Tag) -> str:
    """The language of a listing, from HTML5's ``class="language-…"``."""
    for tag in (pre, pre.find("code")):
        classes = tag.get("class") if isinstance(tag, Tag) else None
        for name in classes or ():
            if name.startswith(("language-", "lang-")):
                return re.sub(r"[^\w+#.-]", "", name.partition("-")[2])
    return ""


def _span(cell: Tag) -> int:
    span = str(cell.get("colspan", "1"))
    return max(1, min(int(span), _SPAN_MAX)) if span.isdecimal() and len(span) < 5 else 1


def _start(numbered: Tag) -> int:
    start = str(numbered.get("start", "1"))
    return int(start) if start.isdecimal() and len(start) < 7 else 1


def _starts_line(node: PageElement) -> bool:
    """Whether a text is the first on a line of its own, where Markdown looks for blocks."""
    while (parent := node.parent) is not None:
        before = _shown_before(node)
        if before is not None:
            return isinstance(before, Tag) and before.name in _BLOCKS
        if parent.name in _BLOCKS:
            return parent.name in _OPEN_LINES
        node = parent
    return True


def _shown_before(node: PageElement) -> PageElement | None:
    before = node.previous_sibling
    while isinstance(before, NavigableString) and not before.strip():
        before = before.previous_sibling
    return before
