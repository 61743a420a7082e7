"""Which kind of file some bytes are."""

from __future__ import annotations

import pytest

from ragbase.errors import UnsupportedMediaTypeError
from ragbase.ingest.parse.kinds import kind_of

HTML = b"<!DOCTYPE html><html><p>x"


@pytest.mark.parametrize(
    ("head", "name", "media_type", "kind"),
    [
        (b"%PDF-1.7", "a.txt", "text/plain", "pdf"),
        (b"\r\nnoise %PDF-1.7", "a", None, "pdf"),
        (b"PK\x03\x04", "a.bin", None, "docx"),
        (HTML, "a.txt", "text/plain", "html"),
        (b"\xef\xbb\xbf <!-- c --> <HTML>", "a", None, "html"),
        ("<html>".encode("utf-16"), "a.txt", None, "html"),
        (b"<?xml version='1.0'?><!DOCTYPE html><html>", "a.txt", None, "html"),
        (b"<div>a README may begin so</div>", "a.md", None, "markdown"),
        (b"<p>x", "a.htm", None, "html"),
        (b"a,b", "A.CSV", None, "csv"),
        (b"a\tb", "a.tsv", None, "csv"),
        (b"# T", "a.txt", "text/markdown", "text"),
        (b"# T", "upload", "text/markdown; charset=utf-8", "markdown"),
        (b"# T", "upload", "application/octet-stream", "text"),
        (b"x = 1", "a.py", None, "text"),
        ("x".encode("utf-16"), "a.txt", None, "text"),
        (b"", "a.md", None, "markdown"),
    ],
)
def test_content_then_name_then_what_is_declared(
    head: bytes, name: str, media_type: str | None, kind: str
) -> None:
    assert kind_of(head, name, media_type) == kind


@pytest.mark.parametrize(
    ("head", "name", "media_type", "said"),
    [
        (b"text", "a.pdf", None, "PDF"),
        (HTML, "a.docx", None, "DOCX"),
        (b"text", "upload", "application/pdf", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "a.txt", None, "PNG"),
        (b"{\\rtf1", "a.txt", None, "RTF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc", None, "old Office"),
        (b"a\0b", "a.txt", None, "binary"),
    ],
)
def test_what_is_not_taken_is_told_with_what_is(
    head: bytes, name: str, media_type: str | None, said: str
) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=said) as caught:
        kind_of(head, name, media_type)
    assert "HTML, PDF, DOCX and CSV" in caught.value.message
