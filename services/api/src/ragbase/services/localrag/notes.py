"""What an answer of the second API tells beside what was asked."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CONTEXTS_CUT",
    "QUERY_CUT",
    "WINDOWS_SHORTER",
    "Note",
    "served_instead",
    "stored_instead",
]


@dataclass(frozen=True, slots=True)
class Note:
    """A warning: ``code`` is stable, ``message`` is for people."""

    code: str
    message: str


WINDOWS_SHORTER = Note(
    "chunks_shortened",
    "Some chunks have fewer than chunkSize words: the embedding model takes no more at once.",
)
CONTEXTS_CUT = Note(
    "contexts_cut", "Some contexts were longer than the embedding model takes, and were cut."
)
QUERY_CUT = Note(
    "query_truncated", "The query was longer than the embedding model takes; its end was not used."
)


def served_instead(missing: str, served: str) -> Note:
    """That a served model stands in for a default GGUF file."""
    return Note(
        "served_model_used",
        f"There is no GGUF file {missing!r}, so the served model {served!r} was used.",
    )


def stored_instead(default: str, stored: str) -> Note:
    """That the stored vectors' model goes before a default GGUF file, which came later."""
    return Note(
        "stored_model_used",
        f"The stored files' vectors were made by {stored!r}, so it was used and not {default!r}.",
    )
