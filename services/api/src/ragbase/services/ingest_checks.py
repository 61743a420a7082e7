"""What a document must be before any work is spent on it: clean, not blank, within the limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from ragbase.errors import InvalidInputError, TooLargeError
from ragbase.models.documents import DocumentIn, DocumentPatch
from ragbase.models.folder_id import FOLDER_CHARS, folder_text
from ragbase.text.clean import clean_metadata, clean_text

__all__ = [
    "CleanDocument",
    "IngestLimits",
    "check_document",
    "check_metadata",
    "file_metadata",
    "patched_metadata",
]


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Bounds of one document."""

    text_chars: int
    metadata_bytes: int
    title_chars: int = 10_000
    parallel_splits: int = 2
    """Documents split at once: splitting is CPU-bound and holds a document's chunks."""


@dataclass(frozen=True, slots=True)
class CleanDocument:
    """A document as it will be stored; its texts are NFC without NUL and lone surrogates."""

    title: str
    content: str
    metadata: dict[str, Any]
    external_id: str | None


def check_document(body: DocumentIn, limits: IngestLimits) -> CleanDocument:
    """The document, cleaned. Raises `InvalidInputError`, `TooLargeError`."""
    external_id = body.external_id
    return CleanDocument(
        title=_within(clean_text(body.title, "title"), limits.title_chars, "title"),
        content=_within(clean_text(body.content, "content"), limits.text_chars, "content"),
        metadata=check_metadata(body.metadata, limits),
        external_id=None if external_id is None else clean_text(external_id, "external_id"),
    )


def check_metadata(metadata: Mapping[str, Any], limits: IngestLimits) -> dict[str, Any]:
    """The metadata, cleaned. Raises `InvalidInputError`, `TooLargeError`."""
    cleaned = clean_metadata(dict(metadata))
    size, limit = len(orjson.dumps(cleaned)), limits.metadata_bytes
    if size > limit:
        raise TooLargeError(
            f"metadata has {size} bytes as JSON; at most {limit} are taken "
            "(RAGBASE_MAX_METADATA_BYTES).",
            code="metadata_too_large",
        )
    return cleaned


def patched_metadata(
    old: dict[str, Any], change: DocumentPatch, limits: IngestLimits
) -> dict[str, Any]:
    """The metadata after the change, cleaned; see `check_metadata`."""
    if not change.merge:
        return check_metadata(change.metadata, limits)
    merged = {**old, **change.metadata}
    removed = {key for key, value in change.metadata.items() if value is None}
    return check_metadata(
        {key: value for key, value in merged.items() if key not in removed}, limits
    )


def file_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata of a file of the second API, whose folder is a text there or none, as on storing."""
    given = metadata.get("folder_id")
    if given in ("", 0, None, False):
        return {key: value for key, value in metadata.items() if key != "folder_id"}
    folder = folder_text(given)
    if not isinstance(folder, str) or len(folder) > FOLDER_CHARS:
        raise InvalidInputError(
            f"folder_id of a file of the second API must be a text of at most {FOLDER_CHARS} "
            "characters.",
            code="invalid_metadata",
            field="metadata",
        )
    return {**metadata, "folder_id": folder}


def _within(value: str, limit: int, field: str) -> str:
    if not value.strip():
        raise InvalidInputError(f"{field} is blank.", code="blank", field=field)
    if len(value) > limit:
        raise TooLargeError(
            f"{field} has {len(value)} characters; at most {limit} are taken.",
            code="text_too_long",
        )
    return value
