"""Documents to store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import pytest

from ragbase.models.domain import ChunkDraft, DocumentDraft, Vectors


class Sample(NamedTuple):
    """What `insert_document` takes: a draft, its chunks and one vector a chunk."""

    draft: DocumentDraft
    chunks: list[ChunkDraft]
    vectors: Vectors


def sample_document(
    texts: Sequence[str] = ("first chunk", "second chunk"),
    *,
    title: str = "Sample",
    metadata: dict[str, Any] | None = None,
    collection_id: int = 1,
    external_id: str | None = None,
    dimension: int = 8,
    seed: int = 0,
) -> Sample:
    """A document of the given chunk texts, its terms split at white space, its vectors random."""
    content = "\n\n".join(texts)
    starts = np.cumsum([0, *(len(text) + 2 for text in texts)])
    chunks = [
        ChunkDraft(
            index=number,
            content=text,
            indexed_content=f"{title}\n\n{text}",
            start=int(start),
            end=int(start) + len(text),
            token_count=len(text.split()),
            terms=f"{title} {text}".lower().split(),
        )
        for number, (text, start) in enumerate(zip(texts, starts, strict=False))
    ]
    vectors = np.random.default_rng(seed).standard_normal((len(texts), dimension))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    draft = DocumentDraft(
        title=title,
        content=content,
        metadata=metadata or {},
        collection_id=collection_id,
        external_id=external_id,
        content_hash=blake2b(f"{title}\n{content}\n{metadata}".encode(), digest_size=24).digest(),
    )
    return Sample(draft, chunks, vectors.astype(np.float32))


@pytest.fixture(scope="session")
def make_sample() -> Callable[..., Sample]:
    """`sample_document`, for tests that cannot import it."""
    return sample_document
