"""What a file is read into. Light: every parser process imports this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ragbase.errors import InvalidInputError

__all__ = ["FileFacts", "FileWarning", "ParsedFile", "filled", "unreadable"]


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a file beside its bytes.

    ``charset`` is what the sender declared, a hint at best; ``max_chars`` bounds the text.
    """

    name: str
    charset: str | None = None
    max_chars: int = 5_000_000


@dataclass(frozen=True, slots=True)
class FileWarning:
    """Something that the reader of the document should know; ``code`` is snake_case."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A file's text as Markdown, with what the file says about itself.

    ``title`` is empty where the file has none of its own. What the author says (author, subject,
    keywords) is metadata by itself; technical facts (pages, dates, language) are in its object
    ``file``, which can be filtered on and does not join the header of every chunk.
    """

    title: str
    content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[FileWarning, ...] = ()


def filled(values: Mapping[str, str]) -> dict[str, Any]:
    """What is not empty."""
    return {key: value for key, value in values.items() if value}


def unreadable(reason: str, code: str = "file_unreadable") -> InvalidInputError:
    """The error of a file that is of a kind taken, but cannot be read."""
    return InvalidInputError(reason, code=code, field="file")
