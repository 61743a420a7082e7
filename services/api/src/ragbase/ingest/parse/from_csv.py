"""CSV: each row as a block of ``header: value`` lines.

A chunk with rows of a table does not show the table's header; whoever gets such a row cannot tell what
its values are. With the names beside them it can, and is found as well. ``docs/adr`` has the figures.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

from ragbase.errors import TooLargeError
from ragbase.ingest.parse.characters import literal, printable
from ragbase.ingest.parse.from_text import text_of
from ragbase.ingest.parse.parsed import FileFacts, ParsedFile, unreadable

__all__ = ["parse"]

_DELIMITERS: Final = ",;\t|"
_SAMPLE_LINES: Final = 50
_FIELD_MAX: Final = 1_000_000


def parse(data: bytes, facts: FileFacts) -> ParsedFile:
    """The rows; the first one names the columns, unless it cannot (numbers, blanks, doubles)."""
    text, warnings = text_of(data, facts)
    delimiter, text = _delimiter(text)
    csv.field_size_limit(_FIELD_MAX)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        content = _content(rows, facts.max_chars)
    except csv.Error as error:
        raise unreadable(f"The CSV cannot be read: {error}.") from error
    return ParsedFile("", content, warnings=warnings)


def _content(rows: Iterable[list[str]], max_chars: int) -> str:
    filled = (row for row in ([_cell(cell) for cell in row] for row in rows) if any(row))
    first = next(filled, None)
    if first is None:
        return ""
    header = first if _is_header(first) else []
    body = filled if header else chain([first], filled)
    blocks: list[str] = []
    total = 0
    for block in (_block(header, row) for row in body):
        total += len(block) + 2
        if total > max_chars:
            raise TooLargeError(
                f"The CSV gives more than {max_chars} characters (RAGBASE_MAX_TEXT_CHARS).",
                code="text_too_long",
            )
        blocks.append(block)
    return "\n\n".join(blocks) or _block([], first)


def _cell(cell: str) -> str:
    return " ".join(printable(cell).split())


def _is_header(row: Sequence[str]) -> bool:
    names = [cell for cell in row if cell]
    numbers = any(cell.replace(".", "").replace(",", "").lstrip("-").isdecimal() for cell in names)
    return len(names) >= len(row) - 1 and len(set(names)) == len(names) and not numbers


def _block(header: Sequence[str], row: Sequence[str]) -> str:
    lines = []
    for place, cell in enumerate(row):
        if cell:
            name = header[place] if place < len(header) else ""
            lines.append(literal(f"{name or f'column {place + 1}'}: {cell}"))
    return "\n".join(lines)


def _delimiter(text: str) -> tuple[str, str]:
    """The delimiter, and the text without the line in which Excel may name it."""
    if text[:4].lower() == "sep=" and text[5:6] in ("\r", "\n"):
        return text[4], text[6:].lstrip("\r\n")
    sample = "".join(islice(io.StringIO(text, newline=""), _SAMPLE_LINES))
    return max(_DELIMITERS, key=lambda delimiter: _fit(sample, delimiter)), text


def _fit(sample: str, delimiter: str) -> tuple[int, int]:
    """How many rows have as many columns as the first, if it has several; and how many it has.

    `csv.Sniffer` guesses by letter frequencies and is fooled by prose in the cells.
    """
    try:
        widths = [
            len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
        ]
    except csv.Error:
        return 0, 0
    first = next((width for width in widths if width), 0)
    return (widths.count(first), first) if first > 1 else (0, 0)
