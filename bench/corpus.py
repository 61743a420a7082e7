"""Bulk-loads a large corpus of resampled real sentences, with vectors, straight into the tables.

Method. Sentences of the English evaluation sets (Cranfield, MuSiQue, technical documentation) are
drawn at random, with replacement, until a chunk has about 120 words; 5 % more words come from a
Zipf tail of made-up words, so that the vocabulary grows with the corpus as it does in real text.
Document frequencies are thus those of real prose, although chunks share sentences. Each chunk's
vector is a base vector plus Gaussian noise, normalised; the base vectors are real embeddings
where the caller has some (`base_vectors`), else random unit vectors in clusters.

Rows are written by COPY with the triggers of ``chunks`` disabled; the lexical index is then built
once by the dialect's `rebuild`. Needs the owner's rights on an empty, migrated database.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ragbase.text.analyse import analyser

if TYPE_CHECKING:
    import asyncpg

__all__ = [
    "ENGLISH",
    "Corpus",
    "Source",
    "clustered",
    "evaldata",
    "load",
    "needed_evaldata",
    "read_jsonl",
    "read_sources",
    "sample",
]

ENGLISH = ("cranfield", "musique-mini", "anthropic-docs")
CHUNK_WORDS = 105  # a chunk ends with the sentence that passes this: about 120 in the mean
CHUNKS_PER_DOCUMENT = 10
TAIL_SHARE = 0.05
TAIL_EXPONENT = 1.15
BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Source:
    """A sentence and its analysed terms, joined by spaces."""

    text: str
    lexical_text: str
    words: int


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks in memory: row i of ``vectors`` belongs to ``texts[i]``; ids are i + 1.

    ``collection`` holds an index into the caller's collection ids; ``vectors`` has shape
    (chunks, dimension), float32, unit rows.
    """

    texts: list[str]
    lexical: list[str]
    collection: NDArray[np.int64]
    vectors: NDArray[np.float32]


def evaldata() -> Path | None:
    """The folder ``RAGBASE_EVALDATA``, else ``../shared/evaldata`` beside the checkout, if there."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "evaldata"
    folder = Path(os.environ.get("RAGBASE_EVALDATA") or beside)
    return folder if folder.is_dir() else None


def needed_evaldata() -> Path:
    """The same, for a bench that cannot do without: ends the program with exit code 2."""
    folder = evaldata()
    if folder is None:
        print("No evaluation data: set RAGBASE_EVALDATA.", file=sys.stderr)
        raise SystemExit(2)
    return folder


def read_jsonl(path: Path) -> Iterator[dict[str, str]]:
    """The objects of a JSON-lines file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def read_sources(folder: Path, sets: Sequence[str] = ENGLISH) -> list[Source]:
    """Every sentence of 4 to 60 words in the named sets, analysed as English, each once."""
    terms = analyser("english").terms
    sentences: dict[str, None] = {}
    for name in sets:
        for row in read_jsonl(folder / name / "corpus.jsonl"):
            for sentence in re.split(r"(?<=[.!?])\s+|\n+", row["text"]):
                if 4 <= len(sentence.split()) <= 60:
                    sentences[sentence.strip()] = None
    return [Source(text, " ".join(terms(text)), len(text.split())) for text in sentences]


def sample(
    sources: Sequence[Source],
    chunks: int,
    *,
    shares: Sequence[float],
    base_vectors: NDArray[np.float32],
    noise: float = 0.35,
    seed: int = 7,
) -> Corpus:
    """Draw ``chunks`` chunks; ``shares`` are the collections' sizes as fractions of 1.

    Args:
        base_vectors: shape (b, d), unit rows; chunk i takes row i mod b.
        noise: length of the noise relative to the base vector.
    """
    random = np.random.default_rng(seed)
    texts, lexical = [], []
    for _ in range(chunks):
        text, terms = _draw(sources, random)
        texts.append(text)
        lexical.append(terms)
    collection = random.choice(len(shares), size=chunks, p=np.asarray(shares) / sum(shares))
    return Corpus(texts, lexical, collection, _noisy(base_vectors, chunks, noise, random))


def clustered(
    count: int, dimension: int, *, clusters: int = 100, seed: int = 11
) -> NDArray[np.float32]:
    """Random unit vectors around ``clusters`` centres; shape (count, dimension)."""
    random = np.random.default_rng(seed)
    centres = _unit(random.standard_normal((clusters, dimension), dtype=np.float32))
    return _noisy(centres, count, 0.8, random)


def _draw(sources: Sequence[Source], random: np.random.Generator) -> tuple[str, str]:
    words, picked = 0, []
    while words < CHUNK_WORDS:
        source = sources[int(random.integers(len(sources)))]
        picked.append(source)
        words += source.words
    tail = [
        f"tail{rank}x" for rank in random.zipf(TAIL_EXPONENT, int(words * TAIL_SHARE)) % 1_000_000
    ]
    text = " ".join([*(source.text for source in picked), *tail])
    return text, " ".join(
        [*(source.lexical_text for source in picked if source.lexical_text), *tail]
    )


def _noisy(
    base: NDArray[np.float32], count: int, noise: float, random: np.random.Generator
) -> NDArray[np.float32]:
    rows = base[np.arange(count) % len(base)]
    scatter = random.standard_normal(rows.shape, dtype=np.float32) / np.sqrt(rows.shape[1])
    return _unit(rows + noise * scatter.astype(np.float32))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


async def load(
    connection: asyncpg.Connection, corpus: Corpus, collections: Sequence[int], *, model_id: int
) -> None:
    """Write the corpus with chunk ids 1…n, ten chunks a document and one collection a document.

    ``corpus.collection`` of a document's first chunk decides. Triggers of ``chunks`` stay
    disabled meanwhile: call the dialect's `rebuild` afterwards.
    """
    owners = [collections[int(index)] for index in corpus.collection[::CHUNKS_PER_DOCUMENT]]
    async with connection.transaction():
        await connection.execute("ALTER TABLE chunks DISABLE TRIGGER USER")
        await connection.copy_records_to_table(
            "documents",
            records=[(i + 1, owner, f"Document {i + 1}", "") for i, owner in enumerate(owners)],
            columns=["id", "collection_id", "title", "content"],
        )
        for start in range(0, len(corpus.texts), BATCH):
            await _copy_chunks(
                connection, corpus, owners, range(start, min(start + BATCH, len(corpus.texts)))
            )
            await _copy_vectors(
                connection,
                corpus,
                owners,
                model_id,
                range(start, min(start + BATCH, len(corpus.texts))),
            )
        await connection.execute("ALTER TABLE chunks ENABLE TRIGGER USER")
    await connection.execute(
        "SELECT setval(pg_get_serial_sequence('chunks', 'id'), max(id)) FROM chunks"
    )
    await connection.execute(
        "SELECT setval(pg_get_serial_sequence('documents', 'id'), max(id)) FROM documents"
    )


async def _copy_chunks(
    connection: asyncpg.Connection, corpus: Corpus, owners: Sequence[int], rows: range
) -> None:
    await connection.copy_records_to_table(
        "chunks",
        records=[
            (
                i + 1,
                i // CHUNKS_PER_DOCUMENT + 1,
                owners[i // CHUNKS_PER_DOCUMENT],
                i % CHUNKS_PER_DOCUMENT,
                corpus.texts[i],
                corpus.texts[i],
                len(corpus.texts[i].split()),
                corpus.lexical[i],
            )
            for i in rows
        ],
        columns=[
            "id",
            "document_id",
            "collection_id",
            "chunk_index",
            "content",
            "indexed_content",
            "token_count",
            "lexical_text",
        ],
    )


async def _copy_vectors(
    connection: asyncpg.Connection,
    corpus: Corpus,
    owners: Sequence[int],
    model_id: int,
    rows: range,
) -> None:
    await connection.copy_records_to_table(
        "embeddings",
        records=[
            (
                i + 1,
                i // CHUNKS_PER_DOCUMENT + 1,
                owners[i // CHUNKS_PER_DOCUMENT],
                model_id,
                "content",
                corpus.vectors[i],
            )
            for i in rows
        ],
        columns=["chunk_id", "document_id", "collection_id", "model_id", "kind", "embedding"],
    )
