"""The models that the second API may use: GGUF files, and those that this server uses anyway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from ragbase.clients.embedder import Embedder
from ragbase.clients.gguf import GgufKind, GgufModels
from ragbase.clients.gguf_embedder import GgufEmbedder
from ragbase.errors import InvalidInputError, NotFoundError, RagBaseError
from ragbase.services.embedding import EmbeddingRuntime
from ragbase.services.llm import LanguageModels
from ragbase.services.localrag.notes import Note, served_instead
from ragbase.services.named_reranker import NamedReranker
from ragbase.services.rerankers import Rerankers

__all__ = ["Chosen", "LocalModels", "ModelState", "Score", "Write", "model_not_found"]

T = TypeVar("T")
Score = Callable[[str, Sequence[str]], Awaitable[list[float]]]
"""Scores in 0…1 of texts for a query, by the place of the text."""
Write = Callable[[str], Awaitable[str]]
"""A chat model's answer to one message."""

ANSWER_TOKENS = 200
PURPOSE: Final = "contextual"


@dataclass(frozen=True, slots=True)
class ModelState:
    """A row of the listing."""

    name: str
    type: GgufKind
    loaded: bool


@dataclass(frozen=True, slots=True)
class Chosen(Generic[T]):
    """A model to use; ``note`` where it is not quite the one that was meant."""

    model: T
    note: Note | None = None
    max_tokens: int | None = None
    """Of a chat model: prompt and answer together, where known."""
    version: str | None = None
    """Of an embedding model in a GGUF file: another one once that was replaced."""


def model_not_found(name: str) -> NotFoundError:
    """The one answer for a name that is not listed; no path, no folder of the server's."""
    return NotFoundError(f"Model '{name}' not found in models directory", code="model_not_found")


class LocalModels:
    """Finds models by the names of the listing, with ``.gguf`` or without.

    A served model answers to its whole name and to the part behind the last slash. A setting's
    default whose file is absent is replaced by the served model of its kind, and that is told.
    """

    def __init__(
        self,
        gguf: GgufModels | None,
        embedding: EmbeddingRuntime,
        rerankers: Rerankers,
        llms: LanguageModels,
        *,
        rerank_timeout_s: float,
        context_timeout_s: float,
    ) -> None:
        self._gguf = gguf
        self._embedding = embedding
        self._rerankers = rerankers
        self._llms = llms
        self._rerank_timeout_s = rerank_timeout_s
        self._context_timeout_s = context_timeout_s

    # The routes of models

    async def listing(self) -> list[ModelState]:
        """All of them, by folder chat, embedding, reranker; GGUF files first."""
        files = [] if self._gguf is None else await self._gguf.models()
        rows = [ModelState(each.name, each.kind, each.loaded) for each in files]
        rows += await self._served()
        order: Sequence[GgufKind] = ("chat", "embedding", "reranker")
        return sorted(rows, key=lambda row: order.index(row.type))

    async def load(self, name: str, kind: GgufKind) -> None:
        """Have it ready. Raises `NotFoundError`, and what the model raises."""
        if self._gguf is not None:
            with suppress(NotFoundError):  # asked itself: a file may have come a moment ago
                await self._gguf.load(name, kind)
                return
        for row in await self._served():
            if _names(name, row.name) and row.type == kind:
                if not row.loaded:
                    await self._ask(row)
                return
        raise model_not_found(name)

    async def _ask(self, row: ModelState) -> None:
        """Have a served model answer: one that is loaded on demand is loaded by that."""
        match row.type:
            case "chat":
                await self._probe_llm()
            case "embedding":
                await self._embedding.embedder.ping()
            case "reranker":
                reranker = self._rerankers.all[row.name]
                await reranker.score("a", ["a"], within_s=self._rerank_timeout_s)

    async def unload(self, name: str) -> None:
        """Give back its memory. Raises `NotFoundError`; `InvalidInputError` of a served one."""
        if self._gguf is not None:
            with suppress(NotFoundError):
                await self._gguf.unload(name)
                return
        if any(_names(name, row.name) for row in await self._served()):
            raise InvalidInputError(
                f"Model '{name}' is served for the whole server and cannot be unloaded.",
                code="model_is_served",
            )
        raise NotFoundError("Model not found or not loaded", code="model_not_loaded")

    # The models at work

    async def embedder(self, name: str, *, default: bool = False) -> Chosen[Embedder]:
        """The embedding model; with ``default`` the served one stands in for a missing file."""
        if self._gguf is not None and await self._gguf.has(name, "embedding"):
            opened = await GgufEmbedder.open(self._gguf, name)
            return Chosen(opened, version=opened.version)
        served = self._embedding.info.model
        if _names(name, served):
            return Chosen(self._embedding.embedder)
        if default:
            return Chosen(self._embedding.embedder, served_instead(name, served))
        raise model_not_found(name)

    async def reranker(self, name: str, *, default: bool = False) -> Chosen[Score]:
        """What scores texts, as `embedder`. Raises `NotFoundError` where there is none."""
        if self._gguf is not None and await self._gguf.has(name, "reranker"):
            gguf = self._gguf
            return Chosen(lambda query, texts: gguf.rerank(name, query, texts))
        if name in self._rerankers.all:
            return Chosen(self._scorer(self._rerankers.all[name]))
        if not default:
            raise model_not_found(name)
        choice = self._rerankers.choose(None, asked=False)  # nothing is fetched unasked
        if choice.reranker is None:
            raise NotFoundError(f"There is no reranker {name!r}. {choice.missing}".strip())
        note = served_instead(name, choice.reranker.name)
        return Chosen(self._scorer(choice.reranker), note)

    async def writer(self, name: str, *, default: bool = False) -> Chosen[Write]:
        """What writes contexts, as `embedder`. Raises `NotFoundError` where there is none."""
        if self._gguf is not None and await self._gguf.has(name, "chat"):
            gguf = self._gguf
            facts = await gguf.info(name, "chat")

            async def write(prompt: str) -> str:
                answer = await gguf.chat(name, prompt, max_tokens=ANSWER_TOKENS, temperature=0.0)
                return answer.strip()

            return Chosen(write, max_tokens=facts.max_tokens)
        served = self._llms.model_name(PURPOSE)
        known = self._llms.offers(PURPOSE)
        if known and _names(name, served):
            return Chosen(self.asking(self._llms))
        if known and default:
            return Chosen(self.asking(self._llms), served_instead(name, served or "language model"))
        raise model_not_found(name)

    def asking(self, llms: LanguageModels) -> Write:
        """Contexts by a language model's server."""

        async def write(prompt: str) -> str:
            answer = await llms.complete(
                "", prompt, purpose=PURPOSE, within_s=self._context_timeout_s
            )
            return answer.strip()

        return write

    def _scorer(self, reranker: NamedReranker) -> Score:
        async def score(query: str, texts: Sequence[str]) -> list[float]:
            scores = await self._rerankers.score(
                reranker, query, texts, within_s=self._rerank_timeout_s
            )
            return scores.values

        return score

    async def _served(self) -> list[ModelState]:
        rows: list[ModelState] = []
        if self._llms.offers(PURPOSE) and (chat := self._llms.model_name(PURPOSE)):
            rows.append(ModelState(chat, "chat", await _answers(self._probe_llm)))
        if self._embedding.ready:
            up = await _answers(self._embedding.embedder.ping)
            rows.append(ModelState(self._embedding.info.model, "embedding", up))
        for name, each in sorted(self._rerankers.all.items()):
            up = each.in_use and await _answers(each.client.ping)
            rows.append(ModelState(name, "reranker", up))
        return rows

    async def _probe_llm(self) -> None:
        for server in self._llms.servers.values():
            await server.client.ping()


def _names(given: str, served: str) -> bool:
    return bool(served) and given in (served, served.rpartition("/")[2])


async def _answers(ping: Callable[[], Awaitable[None]]) -> bool:
    try:
        await ping()
    except RagBaseError:
        return False
    return True
