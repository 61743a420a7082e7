"""What a reader of an HTML page sees: everything else is taken out of the tree."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString

__all__ = ["keep_visible", "main_part"]

_INVISIBLE: Final = frozenset(
    {
        *("head", "title", "script", "style", "template", "noscript"),
        *("iframe", "frame", "object", "embed", "applet", "svg", "canvas", "audio", "video", "map"),
        *("button", "datalist", "dialog", "input", "meter", "option", "progress", "select"),
        "textarea",
    }
)
_FURNITURE: Final = frozenset({"nav", "footer"})
_FURNITURE_ROLES: Final = frozenset({"navigation", "banner", "contentinfo", "search", "menu"})
_HIDDEN: Final = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.I)
_DEPTH_MAX: Final = 60
"""Deeper elements keep their text only: nesting costs stack, and no page means anything by it."""


def keep_visible(soup: BeautifulSoup) -> None:
    """Remove scripts, styles, comments and hidden elements; flatten senseless nesting."""
    for comment in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        comment.extract()
    for tag in _outermost(soup, _is_invisible):
        tag.decompose()
    for tag, text in _too_deep(soup):
        tag.replace_with(text)


def main_part(soup: BeautifulSoup) -> Tag:
    """The page's own ``main``, else its only ``article``, else the page; without navigation.

    A page that is nothing but navigation stays whole.
    """
    part = soup.find("main") or soup.find(None, attrs={"role": "main"}) or _only_article(soup)
    part = part if isinstance(part, Tag) and part.get_text(strip=True) else soup
    furniture = _outermost(part, _is_furniture)
    if sum(len(tag.get_text()) for tag in furniture) < len(part.get_text().strip()):
        for tag in furniture:
            tag.decompose()
    return part


def _only_article(soup: BeautifulSoup) -> Tag | None:
    found = soup.find_all("article", limit=2)
    return found[0] if len(found) == 1 else None


def _is_invisible(tag: Tag) -> bool:
    return (
        tag.name in _INVISIBLE
        or "hidden" in tag.attrs
        or tag.get("aria-hidden") == "true"
        or _HIDDEN.search(str(tag.get("style", ""))) is not None
    )


def _is_furniture(tag: Tag) -> bool:
    """Navigation, page footers, and a header that is the page's, not an article's."""
    if tag.name in _FURNITURE or tag.get("role") in _FURNITURE_ROLES:
        return True
    return tag.name == "header" and tag.find_parent(["main", "article", "section"]) is None


def _outermost(root: Tag, wanted: Callable[[Tag], bool]) -> list[Tag]:
    """The elements below ``root`` that are wanted and lie in no other such element."""
    found: list[Tag] = []
    waiting = [root]
    while waiting:
        for child in waiting.pop().children:
            if isinstance(child, Tag):
                (found if wanted(child) else waiting).append(child)
    return found


def _too_deep(root: Tag) -> list[tuple[Tag, str]]:
    """The elements just below the deepest level, and their texts."""
    found: list[tuple[Tag, str]] = []
    waiting = [(root, 0)]
    while waiting:
        tag, depth = waiting.pop()
        if depth > _DEPTH_MAX:
            found.append((tag, tag.get_text(" ", strip=True)))
            continue
        waiting += [(child, depth + 1) for child in tag.children if isinstance(child, Tag)]
    return found
