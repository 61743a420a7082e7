"""DOCX: paragraphs, headings, lists, tables and notes, by way of HTML."""

from __future__ import annotations

import io
import re
import xml.dom.expatbuilder  # noqa: F401 - mammoth imports it late; here, processes share it
import zipfile
from typing import Any, Final
from xml.etree import ElementTree

from mammoth import convert_to_html
from mammoth.images import img_element

from ragbase.errors import UnsupportedMediaTypeError
from ragbase.ingest.parse.characters import printable
from ragbase.ingest.parse.from_html import read_html
from ragbase.ingest.parse.html_tree import html_tree
from ragbase.ingest.parse.kinds import TAKEN
from ragbase.ingest.parse.parsed import FileFacts, ParsedFile, filled, unreadable
from ragbase.ingest.parse.titles import sensible_title

__all__ = ["parse"]

_PARTS_MAX: Final = 10_000
_XML_MAX: Final = 64 * 1024 * 1024
"""Most bytes of XML in all parts together, unpacked: a 3,000 page novel has a tenth of it."""
_STYLES: Final = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => p:fresh"
_OLE: Final = b"\xd0\xcf\x11\xe0"
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_DECLARATION: Final = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_BACK: Final = re.compile("^#(?:foot|end)note-ref-")
"""Links that lead from a note back into the text, shown as an arrow."""
_CORE: Final = "docProps/core.xml"
_DUBLIN: Final = "{http://purl.org/dc/elements/1.1/}"
_TERMS: Final = "{http://purl.org/dc/terms/}"
_PACKAGE: Final = "{http://schemas.openxmlformats.org/package/2006/metadata/core-properties}"
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]{5,20}(?:Z|[+-]\d\d:\d\d)?)?")


def parse(data: bytes, facts: FileFacts) -> ParsedFile:  # noqa: ARG001 - one shape of parser
    """The document as Markdown; title, author and dates from its core properties.

    Pictures give their alternative text, comments and deleted text nothing.
    """
    if data.startswith(_OLE):
        raise _not_a_zip(data)
    with _opened(data) as package:
        _check(package)
        title, metadata = _properties(package)
    tree = html_tree(_html(data))
    for arrow in tree.find_all("a", href=_BACK):
        arrow.decompose()
    return ParsedFile(title, read_html(tree), metadata)


def _not_a_zip(data: bytes) -> Exception:
    if _ENCRYPTED in data:
        return unreadable("The document is protected by a password; remove it first.", "encrypted")
    return UnsupportedMediaTypeError(f"This is an old Word file; save it as .docx. {TAKEN}")


def _opened(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise unreadable(f"The DOCX file is damaged: {error}.") from error


def _check(package: zipfile.ZipFile) -> None:
    """Refuse other archives, archives that unpack to more than is sensible, and XML with entities."""
    names = package.namelist()
    if "[Content_Types].xml" not in names or not any(_is_body(name) for name in names):
        raise UnsupportedMediaTypeError(f"This is an archive, and no Word document. {TAKEN}")
    parts = [part for part in package.infolist() if part.filename.endswith((".xml", ".rels"))]
    if len(names) > _PARTS_MAX or sum(part.file_size for part in parts) > _XML_MAX:
        raise unreadable(
            f"The DOCX file unpacks to more than {_XML_MAX} bytes of XML, or has more than "
            f"{_PARTS_MAX} parts."
        )
    for part in parts:
        # A text encoding of two bytes a character must not hide a declaration.
        if _DECLARATION.search(_read(package, part.filename).replace(b"\0", b"")):
            raise unreadable("The DOCX file declares XML entities, as no word processor does.")


def _is_body(name: str) -> bool:
    return name.startswith("word/document") and name.endswith(".xml")


def _read(package: zipfile.ZipFile, name: str) -> bytes:
    try:
        return package.read(name)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise unreadable(f"The DOCX file is damaged: {name} cannot be unpacked.") from error


def _html(data: bytes) -> str:
    no_pictures = img_element(lambda _: {})
    converted = convert_to_html(io.BytesIO(data), style_map=_STYLES, convert_image=no_pictures)
    return str(converted.value)


def _properties(package: zipfile.ZipFile) -> tuple[str, dict[str, Any]]:
    if _CORE not in package.namelist():
        return "", {}
    try:
        root = ElementTree.fromstring(_read(package, _CORE))  # noqa: S314 - no entities, see _check
    except ElementTree.ParseError:
        return "", {}  # the text is worth more than its properties

    def text(tag: str) -> str:
        return printable(" ".join((root.findtext(tag) or "").split()))[:2000]

    said = {
        "author": text(f"{_DUBLIN}creator"),
        "subject": text(f"{_DUBLIN}subject"),
        "keywords": text(f"{_PACKAGE}keywords"),
        "description": text(f"{_DUBLIN}description"),
    }
    dates = {
        "created": _date(text(f"{_TERMS}created")),
        "modified": _date(text(f"{_TERMS}modified")),
    }
    title = sensible_title(text(f"{_DUBLIN}title"))
    return title, {**filled(said), "file": filled(dates)}


def _date(text: str) -> str:
    return text if _DATE.fullmatch(text) else ""
