"""What the product asks of local models in GGUF files: vectors, scores, texts, by a model's name.

Implementation: `ragbase.clients.inprocess_gguf` (llama.cpp). A model is loaded by its first use and
unloaded after a time without any; whoever asks meanwhile waits. All methods raise

    NotFoundError      ``model_not_found``: no such file, and no server of that name and kind
    InvalidInputError  ``model_wrong_kind``: the file is of another kind than the call needs;
                       ``text_too_long``
    UpstreamError      ``model_unusable``: the file is corrupt, or llama.cpp cannot run it;
                       ``model_too_large``: it needs more memory than all models together may take
    UnavailableError   ``model_failed``: it broke while it answered, and is loaded anew by the next
                       call; ``model_replaced``: the ``version`` that the caller began with is
                       neither in its place nor in memory any more; ``timeout``
    OverloadedError    all memory is taken by models at work, or too many calls wait

Their messages name the model, and hold no path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from ragbase.models.domain import Vectors

__all__ = ["GgufInfo", "GgufKind", "GgufModel", "GgufModels"]

GgufKind: TypeAlias = Literal["chat", "embedding", "reranker"]
"""The folder that a file lies in."""


@dataclass(frozen=True, slots=True)
class GgufModel:
    """One row of the listing."""

    name: str
    """Without the suffix ``.gguf``."""
    kind: GgufKind
    loaded: bool
    """In memory; of a server: whether it answers."""
    served: bool = False
    """By a server of its own, by URL: not ours to load or unload."""


@dataclass(frozen=True, slots=True)
class GgufInfo:
    """Facts about a loaded model."""

    name: str
    kind: GgufKind
    max_tokens: int
    """Most tokens of an input, special ones included; of a chat model prompt and answer together;
    of a reranker query and text together."""
    dimension: int | None
    """Of embedding models only."""
    version: str = field(default="", compare=False)
    """Of its file: another one once that was replaced. "" of a server's model."""


class GgufModels(Protocol):
    """Local models by name. Names are those of the listing, with ``.gguf`` or without.

    Safe to use from many tasks at once; results are of the model that was asked for. A file that
    takes another's place is loaded by the next call; calls with ``version`` end on the one that they
    began with.
    """

    async def models(self) -> list[GgufModel]:
        """All there are: by folder chat, embedding, reranker, each by name. Reads the folders."""
        ...

    async def has(self, name: str, kind: GgufKind) -> bool:
        """Whether `models` lists it: else the caller may fall back on another, with a warning."""
        ...

    async def load(self, name: str, kind: GgufKind) -> None:
        """Have it in memory; a loaded one counts as used now."""
        ...

    async def unload(self, name: str) -> None:
        """Give its memory back once calls under way are done: of the first kind that has it loaded.

        `NotFoundError` ``model_not_loaded`` where none has; `InvalidInputError` ``model_is_served``
        for one that a server of its own runs.
        """
        ...

    async def info(self, name: str, kind: GgufKind) -> GgufInfo:
        """Facts about the model; loads it."""
        ...

    async def count_tokens(
        self, name: str, kind: GgufKind, texts: Sequence[str], *, version: str = ""
    ) -> list[int]:
        """Tokens of each text as the model reads it, special ones included."""
        ...

    async def embed(
        self, name: str, texts: Sequence[str], *, cut: bool = False, version: str = ""
    ) -> Vectors:
        """Unit vectors, one row a text. Texts beyond ``max_tokens`` are cut, or refused."""
        ...

    async def rerank(self, name: str, query: str, texts: Sequence[str]) -> list[float]:
        """One score in 0…1 a text, in the order of ``texts``. Texts too long are cut."""
        ...

    async def chat(
        self, name: str, prompt: str, *, max_tokens: int = 200, temperature: float = 0.0
    ) -> str:
        """The answer to one user message, stripped; may end in the middle at ``max_tokens``."""
        ...

    async def aclose(self) -> None:
        """Unload all; later calls raise `UnavailableError`."""
        ...
