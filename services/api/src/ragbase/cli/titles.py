"""A title for a file: what its author called it, else its name."""

from __future__ import annotations

import re
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["title_of"]

HEAD_CHARS = 20_000
"""A title further down than this is none."""
TITLE_CHARS = 500

_FRONT_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def title_of(name: str, text: str, *, markdown: bool) -> str:
    """Front matter's ``title``, else the first heading (Markdown only), else the file's name."""
    found = _markdown_title(text[:HEAD_CHARS]) if markdown else ""
    return found[:TITLE_CHARS].strip() or PurePath(name).stem or name


def _markdown_title(text: str) -> str:
    tokens = _parser().parse(text)
    for place, token in enumerate(tokens):
        if token.type == "front_matter" and (title := _FRONT_TITLE.search(token.content)):
            return title[1].strip("\"'")
        if token.type == "heading_open" and (heading := _plain(tokens[place + 1])):
            return heading
    return ""


def _plain(inline: Token) -> str:
    """The words of a heading without their mark-up."""
    parts = (child.content for child in inline.children or () if child.type in _WORDS)
    return " ".join("".join(parts).split())


_WORDS = frozenset({"text", "code_inline", "image"})


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.front_matter import front_matter_plugin

    return MarkdownIt("commonmark").use(front_matter_plugin)
