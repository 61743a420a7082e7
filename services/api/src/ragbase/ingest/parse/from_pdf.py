"""PDF: the text of its pages, in the order in which they were written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pypdfium2
from pypdfium2.raw import FPDF_ERR_PASSWORD

from ragbase.errors import TooLargeError
from ragbase.ingest.parse.characters import printable
from ragbase.ingest.parse.parsed import FileFacts, FileWarning, ParsedFile, filled, unreadable
from ragbase.ingest.parse.pdf_text import Outline, page_markdown, with_words_mended
from ragbase.ingest.parse.titles import sensible_title

__all__ = ["parse"]

_OUTLINE_MAX: Final = 5000
_DATE: Final = re.compile(
    r"D:(\d{4})(\d\d)?(\d\d)?(?:(\d\d)(\d\d)(\d\d)?)?(?:(Z)|([+-]\d\d)'?(\d\d)?)?.*"
)


def parse(data: bytes, facts: FileFacts) -> ParsedFile:
    """Page by page; lines that the outline names are headings. Raises for scans without text."""
    document = _opened(data)
    pages = list(_pages(document, facts.max_chars))
    if not any(page.strip() for page in pages):
        raise unreadable(
            "The PDF has no text on any page: it may be a scan. Text recognition (OCR) is not done "
            "here; send a PDF with a text layer.",
            "no_text",
        )
    outline = _outline(document)
    mended = with_words_mended(pages)
    content = "\n\n".join(
        page_markdown(page, outline.get(number, {})) for number, page in enumerate(mended)
    )
    title, metadata = _properties(document)
    metadata["file"] = {"pages": len(pages), **metadata["file"]}
    return ParsedFile(title, printable(content).strip(), metadata, _warnings(pages))


def _opened(data: bytes) -> pypdfium2.PdfDocument:
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if error.err_code == FPDF_ERR_PASSWORD:
            raise unreadable(
                "The PDF is protected by a password; remove it first.", "encrypted"
            ) from error
        raise unreadable("The PDF is damaged and cannot be opened.") from error


def _pages(document: pypdfium2.PdfDocument, max_chars: int) -> Iterator[str]:
    """The text of each page; a page that cannot be read is empty."""
    total = 0
    for number in range(len(document)):
        try:
            page = document[number]
            text = page.get_textpage().get_text_range()
            page.close()  # with its text: a long document's pages do not fit in memory together
        except pypdfium2.PdfiumError:
            text = ""
        total += len(text)
        if total > max_chars:
            raise TooLargeError(
                f"The PDF holds more than {max_chars} characters (RAGBASE_MAX_TEXT_CHARS).",
                code="text_too_long",
            )
        yield text.replace("\r\n", "\n").replace("\r", "\n")


def _outline(document: pypdfium2.PdfDocument) -> Mapping[int, Outline]:
    """Levels of the bookmarks' titles, from 1, by page."""
    found: dict[int, dict[str, int]] = {}
    for count, mark in enumerate(document.get_toc(max_depth=6)):
        if count >= _OUTLINE_MAX:
            break
        destination = mark.get_dest()
        page = None if destination is None else destination.get_index()
        if page is not None:
            found.setdefault(page, {})[mark.get_title()] = mark.level + 1
    return found


def _warnings(pages: list[str]) -> tuple[FileWarning, ...]:
    empty = sum(not page.strip() for page in pages)
    if not empty:
        return ()
    message = f"{empty} of {len(pages)} pages hold no text (pictures, scans); OCR is not done."
    return (FileWarning("pages_without_text", message),)


def _properties(document: pypdfium2.PdfDocument) -> tuple[str, dict[str, Any]]:
    given = document.get_metadata_dict(skip_empty=True)
    info = {key: " ".join(printable(value).split())[:2000] for key, value in given.items()}
    said = {
        "author": info.get("Author", ""),
        "subject": info.get("Subject", ""),
        "keywords": info.get("Keywords", ""),
    }
    dates = {
        "created": _date(info.get("CreationDate", "")),
        "modified": _date(info.get("ModDate", "")),
    }
    return sensible_title(info.get("Title", "")), {**filled(said), "file": filled(dates)}


def _date(text: str) -> str:
    """``D:20240131120000+01'00'`` in ISO 8601; empty for anything else."""
    found = _DATE.fullmatch(text)
    if found is None:
        return ""
    year, month, day, hour, minute, second, zulu, zone, zone_minutes = found.groups()
    date = "-".join(part for part in (year, month, day) if part)
    if hour is None or day is None:
        return date
    offset = "Z" if zulu else f"{zone}:{zone_minutes or '00'}" if zone else ""
    return f"{date}T{hour}:{minute}:{second or '00'}{offset}"
