"""Markdown: kept as it stands; title and metadata from front matter and headings."""

from __future__ import annotations

from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.front_matter import front_matter_plugin

from ragbase.ingest.parse.from_text import text_of
from ragbase.ingest.parse.front_matter import front_matter
from ragbase.ingest.parse.parsed import FileFacts, FileWarning, ParsedFile
from ragbase.ingest.parse.titles import TITLE_CHARS

__all__ = ["first_heading", "parse"]

_HEAD_CHARS: Final = 20_000
"""A heading further down than this is no title."""
_WORDS: Final = frozenset({"text", "code_inline", "image"})
_PARSER: Final = MarkdownIt("commonmark").use(front_matter_plugin)


def parse(data: bytes, facts: FileFacts) -> ParsedFile:
    """The text; front matter's ``title`` is the title, else the first heading."""
    text, warnings = text_of(data, facts)
    try:
        metadata = front_matter(text)
    except ValueError as error:
        metadata = {}
        warnings += (
            FileWarning("front_matter_unreadable", f"The front matter is left as text: {error}."),
        )
    title = metadata.pop("title", None)
    title = str(title).strip()[:TITLE_CHARS] if isinstance(title, str | int | float) else ""
    return ParsedFile(title or first_heading(text), text, metadata, warnings)


def first_heading(text: str) -> str:
    """The words of a Markdown text's first heading, without their mark-up; empty without one."""
    tokens = _PARSER.parse(text[:_HEAD_CHARS])
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and (heading := _plain(tokens[place + 1])):
            return heading[:TITLE_CHARS].strip()
    return ""


def _plain(inline: Token) -> str:
    parts = (child.content for child in inline.children or () if child.type in _WORDS)
    return " ".join("".join(parts).split())
