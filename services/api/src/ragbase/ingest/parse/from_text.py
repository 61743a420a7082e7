"""Plain text, as it stands."""

from __future__ import annotations

from ragbase.ingest.parse.decode import decode
from ragbase.ingest.parse.parsed import FileFacts, FileWarning, ParsedFile, unreadable

__all__ = ["parse", "text_of"]


def parse(data: bytes, facts: FileFacts) -> ParsedFile:
    """The text; a plain text has no title of its own."""
    text, warnings = text_of(data, facts)
    return ParsedFile("", text, warnings=warnings)


def text_of(data: bytes, facts: FileFacts) -> tuple[str, tuple[FileWarning, ...]]:
    """A file's text, and a warning where its encoding was guessed."""
    try:
        text, warning = decode(data, facts.charset)
    except ValueError as error:
        raise unreadable(f"The file is no text: {error}.", "invalid_text") from error
    return text, () if warning is None else (FileWarning("encoding_guessed", warning),)
