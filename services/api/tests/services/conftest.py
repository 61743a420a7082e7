"""A small searchable world on a real Postgres, with an embedder and rerankers that can misbehave."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import numpy as np
import pytest
import pytest_asyncio

from ragbase.clients.embedder import EmbedderInfo, Tokenizer
from ragbase.clients.reranker import RerankerInfo
from ragbase.errors import EmbedderUnavailableError
from ragbase.models.domain import ArmName, ChunkDraft, DocumentDraft, Hit, Vector, Vectors
from ragbase.retrieval.arms import ArmQuery, KeywordArm, SemanticArm
from ragbase.retrieval.lexical.native import NativeDialect
from ragbase.retrieval.semantic import SemanticIndex
from ragbase.services.named_reranker import NamedReranker
from ragbase.services.rerankers import Rerankers
from ragbase.services.search import SearchService
from ragbase.services.search_rerank import RerankStage
from ragbase.settings import Settings
from ragbase.storage.collections import create_collection, get_collection
from ragbase.storage.documents import insert_document
from ragbase.storage.embedding_models import EmbeddingModel, ensure_model
from ragbase.storage.pool import Database
from ragbase.text.analyse import analyser

DIMENSION = 64


def bag_of_words(text: str) -> Vector:
    """A unit vector near those of texts that share words; no cosine is negative."""
    total = np.full(DIMENSION, 1e-3, dtype=np.float32)
    for word in text.lower().split():
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "big")
        total += np.random.default_rng(seed).standard_exponential(DIMENSION, dtype=np.float32) ** 2
    return total / np.float32(np.linalg.norm(total))


@dataclass
class FakeEmbedder:
    """`bag_of_words`, or whatever fault is set."""

    down: bool = False
    delay_s: float = 0.0
    truncates: bool = False
    asked: list[str] = field(default_factory=list)

    @property
    def tokenizer(self) -> Tokenizer:
        raise NotImplementedError

    async def info(self) -> EmbedderInfo:
        return EmbedderInfo("fake", DIMENSION, 256, 2)

    async def embed_query(self, text: str) -> tuple[Vector, bool]:
        self.asked.append(text)
        await asyncio.sleep(self.delay_s)
        if self.down:
            raise EmbedderUnavailableError("The embedding server cannot be reached.")
        return bag_of_words(text), self.truncates

    async def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return np.stack([bag_of_words(text) for text in texts])

    async def embed_texts(self, texts: Sequence[str]) -> Vectors:
        return await self.embed_passages(texts)

    async def ping(self) -> None:
        return None

    async def aclose(self) -> None:
        return None


@dataclass
class FakeReranker:
    """Prefers texts with a late number in them; ``fault`` instead of an answer if set."""

    name: str = "default"
    timeout_s: float = 5.0
    fallback: str | None = None
    delay_s: float = 0.0
    fault: Exception | None = None
    scores: list[Any] | None = None
    read: list[str] = field(default_factory=list)
    asked: int = 0

    async def info(self) -> RerankerInfo:
        return RerankerInfo(f"acme/{self.name}", 512)

    async def ping(self) -> None:
        if self.fault is not None:
            raise self.fault

    async def aclose(self) -> None:
        return None

    @property
    def named(self) -> NamedReranker:
        """It, as a server would have it configured."""
        return NamedReranker(self.name, self, timeout_s=self.timeout_s, fallback=self.fallback)

    async def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked += 1
        self.read += texts
        await asyncio.sleep(self.delay_s)
        if self.fault is not None:
            raise self.fault
        if self.scores is not None:
            return self.scores
        numbers = [[int(word) for word in text.split() if word.isdigit()] for text in texts]
        return [(found[-1] * 7 % 101) / 101 if found else 0.5 for found in numbers]


@dataclass
class FakeArm:
    """An arm that answers, fails or hangs as told."""

    name: ArmName
    hits: list[Hit] = field(default_factory=list)
    fault: Exception | None = None
    delay_s: float = 0.0
    asked: list[ArmQuery] = field(default_factory=list)

    async def retrieve(self, query: ArmQuery) -> list[Hit]:
        self.asked.append(query)
        await asyncio.sleep(self.delay_s)
        if self.fault is not None:
            raise self.fault
        return self.hits


@dataclass
class World:
    """A database with documents, and services over it."""

    database: Database
    model: EmbeddingModel
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)

    async def collection(self, name: str, **settings: Any) -> None:
        async with self.database.acquire() as connection:
            await create_collection(connection, name, **settings)

    async def add(
        self,
        title: str,
        *contents: str,
        collection: str = "default",
        metadata: dict[str, Any] | None = None,
        external_id: str | None = None,
    ) -> int:
        """Store a document of these chunks; its id."""
        drafts, start = [], 0
        async with self.database.transaction() as connection:
            found = await get_collection(connection, collection)
            assert found is not None
            for index, content in enumerate(contents):
                indexed = f"[{title}] {content}"
                drafts.append(
                    ChunkDraft(
                        index=index,
                        content=content,
                        indexed_content=indexed,
                        start=start,
                        end=start + len(content),
                        token_count=len(content.split()),
                        terms=analyser(found.language).terms(indexed),
                    )
                )
                start += len(content) + 2
            vectors = await self.embedder.embed_passages([d.indexed_content for d in drafts])
            document = await insert_document(
                connection,
                DocumentDraft(
                    title=title,
                    content="\n\n".join(contents),
                    metadata=metadata or {},
                    collection_id=found.id,
                    external_id=external_id,
                ),
                drafts,
                vectors,
                self.model.id,
            )
        return document.id

    @property
    def keyword_arm(self) -> KeywordArm:
        return KeywordArm(self.database, NativeDialect())

    @property
    def semantic_arm(self) -> SemanticArm:
        index = SemanticIndex(self.model.id, self.model.dimension, ef_search=100)
        return SemanticArm(self.database, lambda: index)

    def service(self, *rerankers: FakeReranker, **parts: Any) -> SearchService:
        """A service over the real arms, but for what is given."""
        settings = parts.pop("settings", {})
        stage = RerankStage(
            Rerankers({reranker.name: reranker.named for reranker in rerankers}),
            parts.pop("rerank_text", "indexed"),
            parts.pop("rerank_timeout_s", None),
        )
        return SearchService(
            self.database,
            Settings(**settings),
            embedder=self.embedder,
            semantic=parts.pop("semantic", self.semantic_arm),
            keyword=parts.pop("keyword", self.keyword_arm),
            rerank=stage,
            **parts,
        )


async def open_world(database: Database) -> World:
    async with database.transaction() as connection:
        model = await ensure_model(connection, "fake", DIMENSION)
    return World(database, model)


@pytest_asyncio.fixture
async def world(db: Database) -> World:
    """An empty world of the test's own."""
    return await open_world(db)


@pytest_asyncio.fixture(scope="session")
async def shared_database(server_url: str, template: str) -> AsyncIterator[Database]:
    """A database for tests that only read; made once, dropped with the server."""
    name = f"ragbase_test_{uuid.uuid4().hex[:12]}"
    admin = await asyncpg.connect(server_url)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
    async with await Database.open(url, min_size=0, max_size=10) as database:
        yield database
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest_asyncio.fixture(scope="session")
async def stored_harbour(shared_database: Database) -> World:
    world = await open_world(shared_database)
    await world.add(
        "Harbour rules",
        "Ships moor at the north quay.",
        "Captains pay the mooring fee at noon.",
        metadata={"year": 2024, "tags": ["rules", "fees"]},
        external_id="rules.md",
    )
    await world.add(
        "Quay repairs", "The north quay was repaired in spring.", metadata={"year": 2020}
    )
    await world.add("Weather log", "Storms kept all ships at sea.", metadata={"year": 2024})
    await world.add("Recipes", "Boil the rice, then add salt.", metadata={"year": 1999})
    return world


@pytest.fixture
def harbour(stored_harbour: World) -> World:
    """Four documents about ships in the collection ``default``, to read only; own embedder."""
    return World(stored_harbour.database, stored_harbour.model)


@pytest.fixture
def fake_arm() -> type[FakeArm]:
    return FakeArm


@pytest.fixture
def fake_reranker() -> type[FakeReranker]:
    return FakeReranker
