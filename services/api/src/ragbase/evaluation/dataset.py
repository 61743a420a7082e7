"""Reads a judged dataset: a folder of ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``.

The form is that of BEIR (Thakur et al., NeurIPS 2021): ``_id``, ``title``, ``text``,
``metadata`` per document, ``_id``, ``text``, ``metadata`` per query, and judgements as
query-id, corpus-id, score under a header line. ``metadata.family`` of a query, where given,
groups the results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ragbase.errors import InvalidInputError

__all__ = ["Dataset", "JudgedDocument", "JudgedQuery", "Qrels", "Split", "load_dataset"]

Qrels = Mapping[str, Mapping[str, int]]
"""Query id → document id → grade; 0 is judged and not relevant."""
Split = Literal["all", "even", "odd"]

FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


@dataclass(frozen=True, slots=True)
class JudgedDocument:
    """One document of a corpus, with text in it."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query with at least one relevant document; ``line`` counts from 0 in queries.jsonl."""

    id: str
    text: str
    line: int
    family: str | None = None

    def in_split(self, split: Split) -> bool:
        """Whether the query's line has the parity that ``split`` names."""
        return split == "all" or (self.line % 2 == 0) == (split == "even")


@dataclass(frozen=True, slots=True)
class Dataset:
    """A corpus, its judged queries, and what was left out while reading."""

    name: str
    documents: tuple[JudgedDocument, ...]
    queries: tuple[JudgedQuery, ...]
    qrels: Qrels
    blank_documents: int = 0
    unjudged_queries: int = 0

    def select(self, split: Split) -> tuple[JudgedQuery, ...]:
        """The queries of a split, in order."""
        return tuple(query for query in self.queries if query.in_split(split))

    @property
    def families(self) -> tuple[str, ...]:
        """Names of the query families in order of first appearance."""
        return tuple(dict.fromkeys(query.family for query in self.queries if query.family))


def load_dataset(folder: Path) -> Dataset:
    """Read a dataset. Raises `InvalidInputError` that names file and line.

    Documents without text are skipped and counted (the API refuses them), and so are queries
    without a relevant document (no measure is defined for them).
    """
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise InvalidInputError(
            f"{folder} is no dataset: {', '.join(missing)} not found", code="invalid_dataset"
        )
    documents, blank = _read_documents(folder / "corpus.jsonl")
    qrels = _read_qrels(folder / "qrels.tsv")
    queries, unjudged = _read_queries(folder / "queries.jsonl", qrels)
    if not documents or not queries:
        raise InvalidInputError(
            f"{folder} has {len(documents)} documents with text and {len(queries)} judged queries; "
            "both are needed",
            code="invalid_dataset",
        )
    return Dataset(folder.resolve().name, documents, queries, qrels, blank, unjudged)


def _read_documents(path: Path) -> tuple[tuple[JudgedDocument, ...], int]:
    documents: dict[str, JudgedDocument] = {}
    blank = 0
    for number, record in _records(path):
        document_id = _text_field(record, "_id", path, number)
        text = record.get("text") or ""
        if document_id in documents:
            raise _invalid(path, number, f"document {document_id!r} stands there twice")
        if not isinstance(text, str) or not text.strip():
            blank += 1
            continue
        documents[document_id] = JudgedDocument(
            document_id, str(record.get("title") or ""), text, _metadata(record, path, number)
        )
    return tuple(documents.values()), blank


def _read_queries(path: Path, qrels: Qrels) -> tuple[tuple[JudgedQuery, ...], int]:
    queries: list[JudgedQuery] = []
    unjudged = 0
    for number, record in _records(path):
        query_id = _text_field(record, "_id", path, number)
        text = _text_field(record, "text", path, number)
        if not any(grade > 0 for grade in qrels.get(query_id, {}).values()):
            unjudged += 1
            continue
        family = _metadata(record, path, number).get("family")
        queries.append(
            JudgedQuery(query_id, text, number - 1, None if family is None else str(family))
        )
    return tuple(queries), unjudged


def _read_qrels(path: Path) -> Qrels:
    qrels: dict[str, dict[str, int]] = {}
    with path.open(encoding="utf-8-sig") as lines:
        next(lines, None)  # the header
        for number, line in enumerate(lines, start=2):
            if not line.strip():
                continue
            cells = line.rstrip("\r\n").split("\t")
            try:
                query_id, document_id, grade = cells
                qrels.setdefault(query_id, {})[document_id] = int(grade)
            except ValueError:
                raise _invalid(
                    path, number, "expected query-id, corpus-id and a whole score, tab-separated"
                ) from None
    return qrels


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Line numbers from 1, and the JSON object of each line that is not blank."""
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError as error:
                raise _invalid(path, number, f"not JSON ({error})") from None
            if not isinstance(record, dict):
                raise _invalid(path, number, "not a JSON object")
            yield number, record


def _text_field(record: Mapping[str, Any], name: str, path: Path, number: int) -> str:
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise _invalid(path, number, f"`{name}` is missing or blank")
    return value


def _metadata(record: Mapping[str, Any], path: Path, number: int) -> Mapping[str, Any]:
    metadata = record.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise _invalid(path, number, "`metadata` is not an object")
    return metadata


def _invalid(path: Path, number: int, what: str) -> InvalidInputError:
    return InvalidInputError(f"{path.name}, line {number}: {what}", code="invalid_dataset")
