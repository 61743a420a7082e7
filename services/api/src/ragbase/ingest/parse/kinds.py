"""Which kind of file some bytes are: by content first, then by name, then as declared."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final, Literal, get_args

from ragbase.errors import UnsupportedMediaTypeError

__all__ = ["ENDINGS", "HEAD_BYTES", "KINDS", "MEDIA_TYPES", "TAKEN", "FileKind", "kind_of"]

FileKind = Literal["text", "markdown", "html", "pdf", "docx", "csv"]
KINDS: Final[tuple[FileKind, ...]] = get_args(FileKind)
TAKEN: Final = "Taken are plain text, Markdown, HTML, PDF, DOCX and CSV."
HEAD_BYTES: Final = 8192
"""How much of a file `kind_of` wants to see."""

MEDIA_TYPES: Final[Mapping[FileKind, str]] = {
    "text": "text/plain",
    "markdown": "text/markdown",
    "html": "text/html",
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "csv": "text/csv",
}
_DECLARED: Final[Mapping[str, FileKind]] = {
    **{media_type: kind for kind, media_type in MEDIA_TYPES.items()},
    "text/x-markdown": "markdown",
    "application/xhtml+xml": "html",
    "application/x-pdf": "pdf",
    "application/csv": "csv",
    "text/tab-separated-values": "csv",
}
ENDINGS: Final[Mapping[str, FileKind]] = {
    ".txt": "text",
    ".text": "text",
    ".rst": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".mkd": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".csv": "csv",
    ".tsv": "csv",
}
"""Kind by the ending of a name; text of another ending is plain text."""

_FOREIGN: Final[tuple[tuple[bytes, str], ...]] = (
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!\x1a", "a RAR archive"),
    (b"{\\rtf", "an RTF document; save it as .docx"),
    (b"%!PS", "PostScript; save it as PDF"),
    (b"\x7fELF", "a program"),
)
_OLE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""Word up to 2003, and any Office file with a password."""
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_HTML: Final = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)


def kind_of(head: bytes, name: str, media_type: str | None = None) -> FileKind:
    """The kind of a file that begins with ``head`` (at most `HEAD_BYTES` are looked at).

    A ZIP archive counts as DOCX here: whether it is one, its directory tells. Raises
    `UnsupportedMediaTypeError` for what is none of the kinds, or not what its name says.
    """
    head = head[:HEAD_BYTES]
    said = _said(name, media_type)
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if head.startswith(_ZIP):
        return "docx"
    if head.startswith(_OLE):
        if said == "docx":
            return "docx"
        raise _foreign("an old Office file; save a Word document as .docx")
    for magic, what in _FOREIGN:
        if head.startswith(magic):
            raise _foreign(what)
    if b"\0" in head and not head.startswith(_MARKS):
        raise _foreign("a binary file (it has NUL bytes)")
    if said in ("pdf", "docx"):
        raise UnsupportedMediaTypeError(
            f"The file is called {said.upper()}, but its content is none. {TAKEN}"
        )
    return "html" if _looks_like_html(head) else said or "text"


def _said(name: str, media_type: str | None) -> FileKind | None:
    by_name = ENDINGS.get(PurePosixPath(name).suffix.lower())
    if by_name is not None or media_type is None:
        return by_name
    return _DECLARED.get(media_type.partition(";")[0].strip().lower())


def _looks_like_html(head: bytes) -> bool:
    """Only whole documents: Markdown may well begin with a tag."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.replace(b"\0", b"")[2:]
    return _HTML.match(head.removeprefix(codecs.BOM_UTF8)) is not None


def _foreign(what: str) -> UnsupportedMediaTypeError:
    return UnsupportedMediaTypeError(f"This is {what}. {TAKEN}")
