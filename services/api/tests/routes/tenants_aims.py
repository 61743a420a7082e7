"""Whose data a call is aimed at, and the calls by the operation they attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "CALLS",
    "CANARY",
    "EXTREMES",
    "OWN",
    "Aim",
    "Call",
    "Target",
    "aims_at",
    "document",
    "filters",
]

CANARY = "zqx"
"""In every text, name and key of the other tenant, and in nothing else."""
OWN = "tenant-b"


@dataclass(frozen=True)
class Target:
    """Whose data a call is aimed at: the other tenant's, or something that does not exist.

    Both are spelled alike, so that two answers differ only by what the server knows.
    """

    word: str
    """Of three letters; begins each name."""
    document_id: int
    job_id: int
    key_id: str
    entity_id: int = 0
    concept_id: int = 0
    relation_id: int = 0

    @property
    def collection(self) -> str:
        return f"{self.word}-collection"

    def text(self, what: str) -> str:
        return f"{self.word}{what}"

    def blank(self, said: str) -> str:
        """What was said, with the words of this target taken out."""
        for own, shared in (
            (self.word, "WORD"),
            (self.word.upper(), "WORD"),
            (str(self.document_id), "DOCUMENT"),
            (str(self.job_id), "JOB"),
            (self.key_id, "KEY"),
            (str(self.entity_id), "ENTITY"),
            (str(self.concept_id), "CONCEPT"),
            (str(self.relation_id), "RELATION"),
        ):
            said = said.replace(own, shared)
        return said


@dataclass(frozen=True)
class Call:
    """One request: its path under the host, and what `httpx` takes with it."""

    method: str
    path: str
    arguments: dict[str, Any] = field(default_factory=dict)


Aim = Callable[[Target], Iterator[Call]]
CALLS: dict[tuple[str, str], Aim] = {}
"""By path template and method of the OpenAPI document."""


def aims_at(method: str, path: str) -> Callable[[Aim], Aim]:
    def keep(aim: Aim) -> Aim:
        CALLS[path, method] = aim
        return aim

    return keep


EXTREMES = ({}, {"offset": 2**31 - 1}, {"limit": 100}, {"offset": 1, "limit": 1})


def filters(t: Target) -> list[dict[str, Any]]:
    """Filters that name the target's values, or all but them."""
    mine = {t.text("key"): t.text("value")}
    return [
        mine,
        {"not": mine},
        {"not": {t.text("key"): {"exists": False}}},
        {"or": [mine, {"@id": t.document_id}]},
        {"or": [{"@id": {"exists": True}}, mine]},
        {"@id": t.document_id},
        {"@id": {"in": [t.document_id, t.document_id + 1]}},
        {"@external_id": t.text("external")},
        {"@title": {"contains": t.word}},
        {t.text("key"): {"ne": "x"}},
        {"@created_at": {"gt": "1970"}},
    ]


def document(t: Target, **fields: Any) -> dict[str, Any]:
    return {"title": t.text("title"), "content": f"{t.text('content')} said again.", **fields}
