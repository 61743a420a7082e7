"""What a document's chunks and vectors depend on, as settings and as hashes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b

import orjson

from ragbase.ingest.chunks import RECIPE_VERSION
from ragbase.ingest.contextual import line_room
from ragbase.ingest.split import SplitRules
from ragbase.models.domain import Collection, Metadata

__all__ = ["Recipe", "content_hash", "same_content"]

_CONTENT_BYTES = 16
_RECIPE_BYTES = 8


@dataclass(frozen=True, slots=True)
class Recipe:
    """How documents are cut and analysed: the server's defaults, or a collection's own."""

    size: int
    overlap: int
    language: str = "english"
    line_tokens: int = 0
    """Longest context line of a chunk; 0: none are wanted."""

    def of(self, collection: Collection) -> Recipe:
        """This recipe with the collection's settings laid over it."""
        chunking = collection.chunking or {}
        return replace(
            self,
            size=chunking.get("size", self.size),
            overlap=chunking.get("overlap", self.overlap),
            language=collection.language,
        )

    def rules(self, max_tokens: int) -> SplitRules:
        """Splitter rules under the embedder's token limit, of which context lines get a part."""
        room = line_room(self.line_tokens, max_tokens)
        return SplitRules(size=self.size, overlap=self.overlap, max_tokens=max_tokens - room)

    def digest(self, model: str) -> bytes:
        """Eight bytes that change when the same text would be indexed differently."""
        parts = [RECIPE_VERSION, self.size, self.overlap, self.language, model]
        if self.line_tokens:
            parts.append(self.line_tokens)
        return blake2b(orjson.dumps(parts), digest_size=_RECIPE_BYTES).digest()


def content_hash(title: str, content: str, metadata: Metadata, recipe: bytes) -> bytes:
    """Sixteen bytes for (title, content, metadata), then the recipe's eight."""
    hasher = blake2b(digest_size=_CONTENT_BYTES)
    for part in (title, content):
        raw = part.encode()
        hasher.update(len(raw).to_bytes(8, "big"))
        hasher.update(raw)
    hasher.update(orjson.dumps(dict(metadata), option=orjson.OPT_SORT_KEYS))
    return hasher.digest() + recipe


def same_content(hashed: bytes) -> bytes:
    """The part of a content hash that ignores the recipe: equal title, content, metadata."""
    return hashed[:_CONTENT_BYTES]
