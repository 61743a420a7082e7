"""Files made by hand: the smallest that are still of their kind."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

__all__ = ["CORE", "docx", "pdf", "word_body"]

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="xml" ContentType="application/xml"/></Types>'
)
_RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="r" Target="word/document.xml" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/officeDocument"/></Relationships>'
)
CORE = (
    '<cp:coreProperties xmlns:dc="http://purl.org/dc/elements/1.1/" '
    'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" '
    'xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Harbour rules</dc:title>'
    "<dc:creator>Ann</dc:creator><dcterms:created>2024-01-31T12:00:00Z</dcterms:created>"
    "</cp:coreProperties>"
)


def word_body(*parts: str) -> str:
    """A document part; ``# text`` is a heading, ``a | b`` a row of a table, other text a paragraph."""
    shown = "".join(_part(part) for part in parts)
    return f"<w:document {_W}><w:body>{shown}</w:body></w:document>"


def _part(part: str) -> str:
    if part.startswith("# "):
        style = '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>'
        return f"<w:p>{style}{_run(part[2:])}</w:p>"
    if " | " in part:
        cells = "".join(f"<w:tc><w:p>{_run(cell)}</w:p></w:tc>" for cell in part.split(" | "))
        return f"<w:tbl><w:tr>{cells}</w:tr><w:tr>{cells}</w:tr></w:tbl>"
    return f"<w:p>{_run(part)}</w:p>"


def _run(text: str) -> str:
    return f"<w:r><w:t>{text}</w:t></w:r>"


def docx(body: str, extra: Mapping[str, str | bytes] | None = None) -> bytes:
    """A DOCX file of a document part, and further parts by name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
        parts = {
            "[Content_Types].xml": _TYPES,
            "_rels/.rels": _RELATIONS,
            "word/document.xml": body,
            **(extra or {}),
        }
        for name, content in parts.items():
            package.writestr(name, content)
    return file.getvalue()


def pdf(
    *pages: Sequence[str],
    info: Mapping[str, str] | None = None,
    outline: Sequence[tuple[str, int]] = (),
    locked: bool = False,
) -> bytes:
    """A PDF of pages of lines in Helvetica; ``outline`` pairs titles with pages."""
    file = _Objects()
    catalog, tree = file.add(b""), file.add(b"")
    font = file.add(
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    )
    kids = [file.add(_page(tree, font, file.add(_content(lines)))) for lines in pages]
    file.set(tree, b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), _references(kids)))
    marks = _outline(file, outline, kids) if outline else b""
    file.set(catalog, b"<< /Type /Catalog /Pages %d 0 R%s >>" % (tree, marks))
    trailer = b"/Root %d 0 R" % catalog
    if info:
        given = b" ".join(b"/%s %s" % (key.encode(), _string(info[key])) for key in info)
        trailer += b" /Info %d 0 R" % file.add(b"<< %s >>" % given)
    if locked:
        key = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (b"41" * 32, b"42" * 32)
        trailer += b" /Encrypt %d 0 R /ID [<%s> <%s>]" % (file.add(key), b"43" * 16, b"43" * 16)
    return file.written(trailer)


class _Objects:
    def __init__(self) -> None:
        self._objects: list[bytes] = []

    def add(self, content: bytes) -> int:
        self._objects.append(content)
        return len(self._objects)

    def set(self, number: int, content: bytes) -> None:
        self._objects[number - 1] = content

    def next(self) -> int:
        return len(self._objects) + 1

    def written(self, trailer: bytes) -> bytes:
        out, places = bytearray(b"%PDF-1.4\n"), []
        for number, content in enumerate(self._objects, 1):
            places.append(len(out))
            out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
        start, size = len(out), len(places) + 1
        out += b"xref\n0 %d\n0000000000 65535 f \n" % size
        out += b"".join(b"%010d 00000 n \n" % place for place in places)
        out += b"trailer\n<< /Size %d %s >>\nstartxref\n%d\n%%%%EOF\n" % (size, trailer, start)
        return bytes(out)


def _references(numbers: Sequence[int]) -> bytes:
    return b" ".join(b"%d 0 R" % number for number in numbers)


def _string(text: str) -> bytes:
    escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
    return b"(" + escaped.encode("cp1252") + b")"


def _content(lines: Sequence[str]) -> bytes:
    shown = b"".join(b"%s Tj T*\n" % _string(line) for line in lines)
    stream = b"BT /F1 12 Tf 14 TL 72 720 Td\n" + shown + b"ET"
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream)


def _page(tree: int, font: int, content: int) -> bytes:
    return (
        b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 612 792] "
        b"/Resources << /Font << /F1 %d 0 R >> >> /Contents %d 0 R >>" % (tree, font, content)
    )


def _outline(file: _Objects, marks: Sequence[tuple[str, int]], pages: Sequence[int]) -> bytes:
    root = file.next()
    first, last = root + 1, root + len(marks)
    file.add(
        b"<< /Type /Outlines /First %d 0 R /Last %d 0 R /Count %d >>" % (first, last, len(marks))
    )
    for number, (title, page) in enumerate(marks, first):
        after = b" /Next %d 0 R" % (number + 1) if number < last else b""
        before = b" /Prev %d 0 R" % (number - 1) if number > first else b""
        target = b"/Parent %d 0 R /Dest [%d 0 R /Fit]" % (root, pages[page])
        file.add(b"<< /Title %s %s%s%s >>" % (_string(title), target, before, after))
    return b" /Outlines %d 0 R" % root
