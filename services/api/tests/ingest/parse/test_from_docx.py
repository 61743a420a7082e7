"""Text of Word documents."""

from __future__ import annotations

import pytest

from ragbase.ingest.parse.from_docx import parse
from ragbase.ingest.parse.parsed import FileFacts

from ...sample_files import CORE, docx, word_body

FACTS = FileFacts("a.docx")


def test_headings_paragraphs_and_tables_keep_their_shape() -> None:
    body = word_body(
        "# Mooring", "Ships &lt;b&gt; moor.", "Quay | Depth", "# not | really a heading"
    )
    found = parse(docx(body, {"docProps/core.xml": CORE}), FACTS)
    assert found.title == "Harbour rules"
    assert found.metadata == {"author": "Ann", "file": {"created": "2024-01-31T12:00:00Z"}}
    assert found.content.startswith(
        "# Mooring\n\nShips <b> moor.\n\n| Quay | Depth |\n| --- | --- |\n| Quay | Depth |"
    )


@pytest.mark.parametrize("core", ["", "<broken", CORE.replace("Harbour rules", "Untitled")])
def test_properties_that_say_nothing_are_no_title(core: str) -> None:
    found = parse(docx(word_body("text"), {"docProps/core.xml": core}), FACTS)
    assert (found.title, found.content) == ("", "text")


def test_pictures_leave_no_data_behind() -> None:
    picture = (
        '<w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/'
        'wordprocessingDrawing"><wp:docPr id="1" name="p" descr="A lamp"/><a:graphic '
        'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData><pic:pic '
        'xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>'
        '<a:blip xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
        'r:embed="i"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline>'
        "</w:drawing></w:r>"
    )
    relations = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="i" Target="media/p.png" Type="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships/image"/></Relationships>'
    )
    body = word_body("before", "after").replace("</w:p>", f"{picture}</w:p>", 1)
    parts = {"word/_rels/document.xml.rels": relations, "word/media/p.png": b"\x89PNG" * 1000}
    assert parse(docx(body, parts), FACTS).content == "beforeA lamp\n\nafter"


def test_notes_follow_the_text() -> None:
    note = (
        '<w:footnotes xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        '<w:footnote w:id="1"><w:p><w:r><w:t>At low water.</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>"
    )
    reference = '<w:r><w:footnoteReference w:id="1"/></w:r>'
    body = word_body("Ships moor.").replace("</w:p>", f"{reference}</w:p>")
    found = parse(docx(body, {"word/footnotes.xml": note}), FACTS)
    assert found.content == "Ships moor.[1]\n\n1. At low water."
