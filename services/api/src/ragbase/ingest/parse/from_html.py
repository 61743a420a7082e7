"""HTML: what a reader sees, as Markdown; title and metadata from its head."""

from __future__ import annotations

import re
from typing import Any, Final

from bs4 import BeautifulSoup, Tag

from ragbase.ingest.parse.characters import printable
from ragbase.ingest.parse.decode import decode
from ragbase.ingest.parse.html_markdown import markdown_of
from ragbase.ingest.parse.html_tree import html_tree
from ragbase.ingest.parse.html_visible import keep_visible, main_part
from ragbase.ingest.parse.parsed import FileFacts, FileWarning, ParsedFile, unreadable
from ragbase.ingest.parse.titles import sensible_title

__all__ = ["parse", "read_html"]

_CHARSET: Final = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.I)
_META: Final = {
    "author": "author",
    "description": "description",
    "keywords": "keywords",
    "date": "published",
    "dc.date": "published",
    "dcterms.created": "published",
    "article:published_time": "published",
}
_VALUE_MAX: Final = 2000


def parse(data: bytes, facts: FileFacts) -> ParsedFile:
    """The visible text; the title is ``<title>``, else the first ``<h1>``."""
    declared = _CHARSET.search(data[:4096])
    charset = declared[1].decode("ascii") if declared else facts.charset
    try:
        text, guessed = decode(data, charset)
    except ValueError as error:
        raise unreadable(f"The file is no text: {error}.", "invalid_text") from error
    soup = html_tree(text)
    metadata = _metadata(soup)
    title = _title(soup)
    warnings = () if guessed is None else (FileWarning("encoding_guessed", guessed),)
    return ParsedFile(title, read_html(soup), metadata, warnings)


def read_html(soup: BeautifulSoup) -> str:
    """The text that a reader sees, as Markdown."""
    keep_visible(soup)
    return printable(markdown_of(main_part(soup))).replace("\xa0", " ")


def _title(soup: BeautifulSoup) -> str:
    for tag in (soup.find("title"), soup.find("h1")):
        found = sensible_title(printable(tag.get_text())) if isinstance(tag, Tag) else ""
        if found:
            return found
    return ""


def _metadata(soup: BeautifulSoup) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for tag in soup.find_all("meta", content=True, limit=200):
        key = _META.get(str(tag.get("name") or tag.get("property") or "").lower())
        value = " ".join(printable(str(tag["content"])).split())
        if key is not None and 0 < len(value) <= _VALUE_MAX:
            found.setdefault(key, value)
    root = soup.find("html")
    language = root.get("lang") if isinstance(root, Tag) else None
    if isinstance(language, str) and re.fullmatch(r"[A-Za-z0-9-]{2,35}", language):
        found["file"] = {"language": language}
    return found
